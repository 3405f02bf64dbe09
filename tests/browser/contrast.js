// The body of a function that a test runs in a page: the visible texts whose contrast with their background is below 4.5,
// the limit of WCAG 2 AA (https://www.w3.org/TR/WCAG22/#contrast-minimum), by class and colours.
const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
const luminance = (colour) => {
  const [red, green, blue] = numbers(colour).map((value) => channel(value / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const background = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    const alpha = numbers(colour)[3];
    if (alpha === undefined || alpha === 1) {
      return colour;
    }
  }
  return 'rgb(255, 255, 255)';
};
const low = new Set();
for (const node of document.querySelectorAll('body *')) {
  const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!hasText || node.getClientRects().length === 0 || node.closest('script, style, noscript, .skip')) {
    continue;
  }
  const colours = [getComputedStyle(node).color, background(node)];
  const [lower, higher] = colours.map(luminance).sort((a, b) => a - b);
  const contrast = (higher + 0.05) / (lower + 0.05);
  if (contrast < 4.5) {
    low.add(`${node.tagName} ${node.className}: ${colours.join(' on ')}: ${contrast.toFixed(2)}`);
  }
}
return [...low];
