// The form that trains: the training runs in a worker, so that the page stays alive and can end it.

const byId = (id) => document.getElementById(id);

/** Bytes of all files, with a line feed after each that lacks one. */
async function contentOf(files) {
  const parts = [];
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    parts.push(bytes);
    if (bytes.at(-1) !== 10) parts.push(new Uint8Array([10]));
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Connects the form. `text` gives the text of the page, `addTokenizer` takes the trained file. */
export function startTraining({ text, addTokenizer }) {
  const [type, progress, status, download] = ["train-type", "train-progress", "train-status", "train-download"].map(byId);
  let worker = null;
  const end = (message) => {
    worker?.terminate();
    worker = null;
    byId("train-start").disabled = false;
    byId("train-cancel").disabled = true;
    status.textContent = message;
  };
  type.addEventListener("change", () => {
    byId("train-pattern").disabled = type.value !== "byte_bpe";
  });
  byId("train-cancel").addEventListener("click", () => end("Cancelled."));
  byId("train").addEventListener("submit", async (event) => {
    event.preventDefault();
    const files = [...byId("train-files").files];
    const corpus = files.length > 0 ? await contentOf(files) : new TextEncoder().encode(text());
    const options = { type: type.value, size: Number(byId("train-size").value), pattern: byId("train-pattern").value };
    byId("train-start").disabled = true;
    byId("train-cancel").disabled = false;
    download.hidden = true;
    progress.value = 0;
    status.textContent = "Reading";
    worker = new Worker("worker.js", { type: "module" });
    worker.addEventListener("error", ({ message }) => end(`The training failed: ${message}`));
    worker.addEventListener("message", async ({ data }) => {
      if (data.error !== undefined) {
        end(data.error);
      } else if (data.file === undefined) {
        status.textContent = data.stage;
        progress.value = data.all > 0 ? data.done / data.all : 0;
      } else {
        progress.value = 1;
        const name = `${options.type}-${options.size}${options.type === "byte_bpe" ? ".json" : ".model"}`;
        end(`Trained in ${(data.milliseconds / 1000).toFixed(1)} s.`);
        URL.revokeObjectURL(download.href);
        download.href = URL.createObjectURL(new Blob([data.file]));
        download.download = name;
        download.textContent = `Download ${name}`;
        download.hidden = false;
        await addTokenizer(name, data.file);
      }
    });
    worker.postMessage({ corpus, options }, [corpus.buffer]);
  });
}
