/** A template cannot be used. `message` says where and why, for whoever registers the tool. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** Arguments cannot be put where a template wants them. `message` is for the model. */
export class ArgumentPlaceError extends Error {
  override readonly name = "ArgumentPlaceError";
}
