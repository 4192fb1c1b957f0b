import { type Declaration, declarationsIn } from "./declarations.ts";

/** The command that writes the report. */
export const COMMAND = "node scripts/api-reference.ts";

/** Reads the text of a file below `src` without its extension, such as `sessions/sessions`. */
export type ReadText = (path: string) => string;

/** An entry point, from which users import. */
export interface EntryPoint {
  /** The name of its file in `src/entry`, without the extension. */
  readonly name: string;
  /** Its source: headings as comments, and exports from the modules that declare them. */
  readonly source: string;
}

interface Group {
  readonly heading: string;
  readonly names: readonly { readonly name: string; readonly module: string }[];
}

/**
 * Writes the page of an entry point as Markdown: each exported name with its kind, its documentation and its declaration.
 *
 * @param readDeclarations Reads what the compiler declares of a module.
 * @throws {Error} if an exported name has no documentation, or is not found. The message lists them.
 */
export function apiPage(entry: EntryPoint, readDeclarations: ReadText): string {
  const specifier = specifierOf(entry);
  const missing: string[] = [];
  const groups = groupsIn(entry.source).map(({ heading, names }) => {
    const parts = names.map(({ name, module }) => {
      const declarations = declarationsIn(readDeclarations(module)).filter((each) => each.name === name);
      if (declarations.length === 0 || declarations[0]?.docs === "") missing.push(`${name} (${module})`);
      return part(name, declarations);
    });
    return `## ${heading}\n\n${parts.join("\n")}`;
  });
  if (missing.length > 0) throw new Error(`${specifier}: without documentation: ${missing.join(", ")}`);
  const head = `# ${specifier}\n\n<!-- Written by \`${COMMAND}\` from the types. Change the comments in src/. -->\n`;
  return `${head}\n${groups.join("\n")}`;
}

/**
 * Writes the section of an entry point in the report of the package's surface: a line for each exported name, sorted, with its
 * kind and the first sentence of its documentation.
 */
export function apiSection(entry: EntryPoint, readDeclarations: ReadText): string {
  const names = groupsIn(entry.source).flatMap((group) => group.names);
  const lines = names
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, module }) => {
      const declaration = declarationsIn(readDeclarations(module)).find((each) => each.name === name);
      const [sentence = ""] = /^.*?(?:[.:](?=\s)|$)/s.exec(prose(declaration?.docs ?? "")) ?? [];
      return `- \`${name}\` (${declaration?.kind}): ${sentence.replace(/\s*\n\s*/g, " ").replace(/:$/, ".")}`;
    });
  return `## ${specifierOf(entry)}\n\n${lines.length} names.\n\n${lines.join("\n")}\n`;
}

function specifierOf({ name }: EntryPoint): string {
  return name === "index" ? "sandgate" : `sandgate/${name}`;
}

/** The exports of an entry point by the headings above them, each in the order of the source. */
function groupsIn(source: string): readonly Group[] {
  return source
    .split(/^(?=\/\/ )/m)
    .filter((text) => text.includes("export "))
    .map((text) => ({
      heading: /^\/\/ (.*)/.exec(text)?.[1] ?? "Exports",
      names: Array.from(
        text.matchAll(/^export (?:type )?\{([^}]*)\} from "\.\.\/(.*)\.ts";/gm),
        ([, clause = "", module = ""]) =>
          clause
            .split(",")
            .map((name) => name.trim().replace(/^type /, ""))
            .filter((name) => name !== "")
            .map((name) => ({ name, module })),
      ).flat(),
    }));
}

function part(name: string, declarations: readonly Declaration[]): string {
  const texts = declarations.map(({ docs, code }, index) => {
    const text = index > 0 && docs === "" ? "" : `${prose(docs)}\n\n`;
    return `${text}\`\`\`ts\n${code}\n\`\`\`\n`;
  });
  return `### ${name} (${declarations[0]?.kind})\n\n${texts.join("\n")}`;
}

/** A documentation comment as Markdown, with its tags as a list. */
function prose(docs: string): string {
  const [text = "", ...tags] = docs.replace(/\{@link ([^}]*)\}/g, "`$1`").split(/^@(?=\w)/m);
  const items = tags.map((tag) => {
    const [, kind = "", rest = ""] = /^(\w+)\s*(.*)$/s.exec(tag.trim()) ?? [];
    const words = rest
      .replace(/\s*\n\s*/g, " ")
      .replace(/^\{(.*?)\}/, "`$1`")
      .replace(/^(\w+) /, kind === "param" || kind === "typeParam" ? "`$1`: " : "$1 ");
    return `- ${LABELS[kind] ?? kind} ${words}`;
  });
  return [text.trim(), items.join("\n")].filter((each) => each !== "").join("\n\n");
}

const LABELS: Readonly<Record<string, string>> = {
  param: "Parameter",
  typeParam: "Type parameter",
  returns: "Returns",
  throws: "Throws",
};
