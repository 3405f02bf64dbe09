//! What the type of a model changes for transformers: a `config.json` beside a `tokenizer.json` can take the place of its
//! stages.

use super::{Reason, ReasonKind};
use crate::byte_bpe::{ByteBpe, TextForm};

/// Values of `model_type` in `config.json` for which `AutoTokenizer` of transformers 5.24 takes the vocabulary of a
/// `tokenizer.json` alone, whatever class is named, and builds stages of its own around it. All but the last one build
/// those of Qwen.
const STAGES_BY_MODEL_TYPE: [&str; 7] = [
    "qwen2",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_5_moe_text",
    "qwen4_exp",
    "hyperclovax_vision_v2",
    "siglip2",
];

/// Why `AutoTokenizer` of transformers does not run a `tokenizer.json` beside a `config.json` of this type. A file whose stages
/// are those of Qwen (`is_qwen`) has no other ids with Qwen's.
pub(super) fn reason_of_model_type(model_type: Option<&str>, is_qwen: bool) -> Option<Reason> {
    let model_type = model_type.filter(|it| STAGES_BY_MODEL_TYPE.contains(it))?;
    let explanation = format!(
        "config.json in the folder has the model_type {model_type:?}, for which AutoTokenizer of transformers 5.24 takes the \
         vocabulary of tokenizer.json and no other stage; PreTrainedTokenizerFast.from_pretrained runs the file"
    );
    let differs = !is_qwen || model_type == "siglip2";
    differs.then(|| Reason::new(ReasonKind::Setting, explanation))
}

/// Whether a vocabulary has the stages of Qwen.
pub(super) fn has_stages_of_qwen(bpe: &ByteBpe) -> bool {
    bpe.pretokenizer().name() == Some("qwen2") && bpe.text_form() == TextForm::Nfc
}
