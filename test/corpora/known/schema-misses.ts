/** A required case of the JSON-Schema-Test-Suite that is not passed, and why. */
interface KnownMiss {
  readonly file: string;
  readonly reason: string;
  /** Group and case, as the suite describes them. */
  readonly cases: readonly string[];
}

/** Every required case that is not passed. */
export const KNOWN_MISSES: readonly KnownMiss[] = [
  {
    file: "draft2020-12/format.json",
    reason: 'Known formats are checked: a tool that says `format: "date"` means it.',
    cases: [
      "email format | invalid email string is only an annotation by default",
      "regex format | invalid regex string is only an annotation by default",
      "ipv4 format | invalid ipv4 string is only an annotation by default",
      "ipv6 format | invalid ipv6 string is only an annotation by default",
      "hostname format | invalid hostname string is only an annotation by default",
      "date format | invalid date string is only an annotation by default",
      "date-time format | invalid date-time string is only an annotation by default",
      "time format | invalid time string is only an annotation by default",
      "json-pointer format | invalid json-pointer string is only an annotation by default",
      "relative-json-pointer format | invalid relative-json-pointer string is only an annotation by default",
      "uri format | invalid uri string is only an annotation by default",
      "uri-reference format | invalid uri-reference string is only an annotation by default",
      "uri-template format | invalid uri-template string is only an annotation by default",
      "uuid format | invalid uuid string is only an annotation by default",
      "duration format | invalid duration string is only an annotation by default",
    ],
  },
  {
    file: "draft2020-12/unevaluatedItems.json",
    reason: "ajv does not count what `contains` has evaluated, nor `if` alone.",
    cases: [
      "unevaluatedItems with nested items | with no additional items",
      "unevaluatedItems with nested items | with invalid additional item",
      "unevaluatedItems depends on adjacent contains | contains passes, second item is not evaluated",
      "unevaluatedItems depends on multiple nested contains | 7 not evaluated, fails unevaluatedItems",
      "unevaluatedItems and contains interact to control item dependency relationship | only b's are invalid",
      "unevaluatedItems and contains interact to control item dependency relationship | only c's are invalid",
      "unevaluatedItems and contains interact to control item dependency relationship | only b's and c's are invalid",
      "unevaluatedItems and contains interact to control item dependency relationship | only a's and c's are invalid",
      "unevaluatedItems with minContains = 0 | all items evaluated by contains",
      "unevaluatedItems can see annotations from if without then and else | valid in case if is evaluated",
    ],
  },
  {
    file: "draft2020-12/unevaluatedProperties.json",
    reason: "ajv does not count what `if` alone has evaluated.",
    cases: [
      "unevaluatedProperties with if/then/else, then not defined | when if is true and has no unevaluated properties",
      "unevaluatedProperties with if/then/else, then not defined | when if is false and has unevaluated properties",
      "unevaluatedProperties can see annotations from if without then and else | valid in case if is evaluated",
    ],
  },
  {
    file: "draft2020-12/vocabulary.json",
    reason: "Vocabularies cannot be switched off.",
    cases: [
      "schema that uses custom metaschema with with no validation vocabulary | no validation: invalid number, but it still validates",
    ],
  },
];
