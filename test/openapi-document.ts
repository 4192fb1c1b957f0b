import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** Returns docs/openapi.yaml, with the responses that it names once in the place of their references. */
export function openApiDocument<Document>(): Document {
  const document = parse(
    readFileSync(new URL("../docs/openapi.yaml", import.meta.url), "utf8"),
  ) as OpenApiDocument;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const name = /^#\/components\/responses\/(\w+)$/.exec(response.$ref ?? "")?.[1];
      if (name !== undefined) operation.responses[status] = document.components.responses[name] ?? {};
    }
  }
  return document as Document;
}

interface OpenApiDocument {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Record<string, { $ref?: string }> }>>>
  >;
  readonly components: { readonly responses: Readonly<Record<string, object>> };
}
