/** Keywords that only bound a value: a model that is told of them mostly keeps them, and we validate. */
export const BOUNDS: readonly string[] = [
  ...["minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum"],
  ...["exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties"],
  ...["maxProperties", "default"],
];
/** Keywords whose meaning would be lost. */
export const UNSUPPORTED: readonly string[] = [
  ...["not", "if", "then", "else", "patternProperties", "propertyNames", "dependencies", "dependentRequired"],
  ...["dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contains", "prefixItems"],
  ...["additionalItems", "$dynamicRef", "$recursiveRef"],
];
/** Keywords that say what a value is made of. */
export const STRUCTURE: readonly string[] = ["type", "properties", "required", "items", "enum", "const"];
/** Keywords that make a schema of others. */
export const COMBINING: readonly string[] = ["$ref", "allOf", "anyOf", "oneOf"];
