/** A template cannot be filled in, so the call must be denied. `message` is for operators, and repeats no argument. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}
