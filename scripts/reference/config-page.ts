import type { JsonObject } from "../../src/json/value.ts";
import { type Key, type Section, sectionsIn } from "./schema-walk.ts";
import { typeText } from "./type-text.ts";

/** The command that writes the page. */
export const COMMAND = "node scripts/config-reference.ts";

const HEAD = `# Reference of sandgate.yaml

<!-- Written by \`${COMMAND}\` from the shapes that check a config. Change the descriptions there. -->

[configuration.md](configuration.md) explains the file. \`sandgate schema\` prints the same as a JSON Schema, with which
editors show these texts.

- A **duration** is a number with \`ms\`, \`s\`, \`m\` (or \`min\`) or \`h\`, such as \`250ms\` or \`5min\`, or a number of milliseconds.
- A **size** is a number with \`B\`, \`KiB\`, \`MiB\` or \`GiB\`, such as \`512KiB\`, or a number of bytes.
- A **path** is relative to the file that has it.
- \`[]\` stands for each item of a list, and \`NAME\` for each key that the author of the file chooses.

Each example is a part of a file; \`tools\`, \`toolsets\` or \`mcp\`, and a \`policy\`, are always required.
`;

/** Examples by the name of the entry that they show: YAML, with the entry itself. */
export type Examples = ReadonlyMap<string, string>;

/**
 * Writes the reference of \`sandgate.yaml\` as Markdown.
 *
 * @param schema That of \`sandgate schema\`.
 * @throws {Error} if a key has no description, or an entry no example. The message lists them.
 */
export function configPage(schema: JsonObject, examples: Examples): string {
  return new ConfigPage(schema, examples).write();
}

class ConfigPage {
  readonly #schema: JsonObject;
  readonly #examples: Examples;
  readonly #definitions: JsonObject;
  readonly #missing: string[] = [];
  /** The path of the first section with the same keys, which the others refer to. */
  readonly #sections = new Map<string, string>();
  readonly #anchors = new Map<string, string>();

  constructor(schema: JsonObject, examples: Examples) {
    this.#schema = schema;
    this.#examples = examples;
    this.#definitions = (schema["$defs"] ?? {}) as JsonObject;
  }

  write(): string {
    const [top] = sectionsIn({ ...this.#schema, anyOf: [], else: {} }, "", {});
    if (top === undefined) throw new Error("the schema has no properties");
    const list = top.keys.map(({ name }) => `[\`${name}\`](#${this.#anchorOf(name)})`).join(", ");
    // Tables refer to further ones below, which the first run finds.
    for (const key of top.keys) this.#entry(key);
    this.#missing.length = 0;
    const parts = top.keys.map((key) => this.#entry(key));
    if (this.#missing.length > 0)
      throw new Error(`without a description or an example: ${this.#missing.join(", ")}`);
    return `${HEAD}\n${list}\n\n${parts.join("\n")}`;
  }

  /** A top-level entry: its example, and a table for each map in it. */
  #entry({ name, schema }: Key): string {
    const example = this.#examples.get(name);
    if (example === undefined) this.#missing.push(`example of ${name}`);
    const { meaning, fallback } = this.#textOf(name, schema);
    const type = typeText(schema, this.#definitions);
    const facts = [`Type: ${type}.`, ...(fallback === "" ? [] : [`Default: ${fallback}.`])].join(" ");
    const text = `## \`${name}\`\n\n${meaning} ${facts}\n\n\`\`\`yaml\n${(example ?? "").trim()}\n\`\`\`\n`;
    return [text, ...this.#sectionsBelow(schema, name)].join("\n");
  }

  #sectionsBelow(schema: JsonObject, path: string): readonly string[] {
    return sectionsIn(schema, path, this.#definitions).flatMap((section) =>
      this.#isFirst(section) ? [this.#table(section), ...this.#nested(section)] : [],
    );
  }

  #nested({ path, keys }: Section): readonly string[] {
    return keys.flatMap(({ name, schema }) => this.#sectionsBelow(schema, `${path}.${name}`));
  }

  #isFirst({ path, keys }: Section): boolean {
    const text = JSON.stringify(keys);
    const first = this.#sections.get(text) ?? path;
    this.#sections.set(text, first);
    return first === path;
  }

  #table({ path, keys }: Section): string {
    const rows = keys.map((key) => {
      const at = `${path}.${key.name}`;
      const { meaning, fallback } = this.#textOf(at, key.schema);
      const cells = [
        key.name === "NAME" ? "any other" : `\`${key.name}\``,
        this.#linked(key.schema, at),
        key.isRequired ? "required" : fallback,
        meaning,
      ];
      return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
    });
    const heading = path.includes(".") || path.includes("[") ? `### \`${path}\`\n\n` : "";
    return `${heading}| key | type | default | meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`;
  }

  /** The type of a key, with a link to the table of its members. */
  #linked(schema: JsonObject, path: string): string {
    const type = typeText(schema, this.#definitions);
    const [section] = sectionsIn(schema, path, this.#definitions);
    if (section === undefined) return type;
    const at = this.#sections.get(JSON.stringify(section.keys)) ?? section.path;
    return type.replace(/\bmaps?\b(?! of)/, (word) => `[${word}](#${this.#anchorOf(at)})`);
  }

  /** A description, split at its default. */
  #textOf(
    path: string,
    { description }: JsonObject,
  ): { readonly meaning: string; readonly fallback: string } {
    if (typeof description !== "string") this.#missing.push(path);
    const text = String(description).replace(
      /\bdocs\/([\w-]+\.md)(#[\w-]+)?/g,
      (_all, file, anchor = "") => `[${file}](${file}${anchor})`,
    );
    const [, meaning = text, fallback = ""] = /^(.*?) ?Default: (.*)\.$/s.exec(text) ?? [];
    return { meaning, fallback };
  }

  /** The anchor that GitHub gives a heading. */
  #anchorOf(path: string): string {
    const anchor = path.toLowerCase().replace(/[^a-z0-9_-]/g, "");
    const known = this.#anchors.get(anchor);
    if (known !== undefined && known !== path)
      throw new Error(`the headings ${known} and ${path} have the same anchor`);
    this.#anchors.set(anchor, path);
    return anchor;
  }
}

/** Splits a YAML text at its top-level keys. Comments belong to the key below them. */
export function examplesIn(text: string): Examples {
  const parts = text.split(/^(?=(?:#.*\n)*[A-Za-z]\w*:)/m).filter((part) => /^[A-Za-z]\w*:/m.test(part));
  return new Map(parts.map((part) => [/^(\w+):/m.exec(part)?.[1] ?? "", part]));
}
