import { Document, isCollection, isScalar, visit } from "yaml";
import { UNPRINTABLE } from "../../../base/text.ts";
import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import { type ConfigPath, ConfigSource } from "../../../config/source.ts";
import { ToolRegistrationError } from "../../../engine/registered-tool.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import type { Tool } from "../../../engine/tool.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import { type ShownText, shown } from "../../../rendering/shown.ts";
import { SchemaError } from "../../../schema/schema-error.ts";
import { parseHttpUrl } from "../../../tool/http-template.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../../tool/side-effects.ts";
import { UsageError } from "../../errors.ts";
import { type Access, proposedOrigins } from "../../openapi/access.ts";
import {
  type FoundOperation,
  findOperations,
  LeftOutError,
  OpenApiDocument,
} from "../../openapi/document.ts";
import { type ImportedOperation, importOperation } from "../../openapi/operations.ts";
import {
  EXIT_BAD_INPUT,
  type ExitCode,
  ownCommand,
  print,
  showProblems,
  type Terminal,
} from "../../terminal.ts";
import type { ToolCommand } from "../../tool-command.ts";
import { writeNewFiles } from "../new-project.ts";

type ImportCommand = Extract<ToolCommand, { name: "tool import" }>;

/** The limits of a new grant. A person changes them. */
const LIMITS = { wallTime: "30s", output: "1MiB" };

/** Makes HTTP tools of the operations of an API, and a policy that grants them. Each operation that is left out is named. */
export async function importTools(command: ImportCommand, terminal: Terminal): Promise<ExitCode> {
  const document = await OpenApiDocument.read(command.file);
  const access = readAccess(command, document);
  const classes = readClasses(command.sideEffects);
  const notes: ConfigProblem[] = [];
  const note = (at: ConfigPath, message: string): void =>
    void notes.push(document.source.problem(at, message, "warning", "key"));
  const found = findOperations(document, (at, what, reason) => note(at, `${what} is left out: ${reason}`));
  const chosen = choose(found, command.operations);
  if (document.root["webhooks"] !== undefined)
    note(["webhooks"], "webhooks are left out: they are no operations");
  const registry = new ToolRegistry();
  const imported: (ImportedOperation & { readonly found: FoundOperation })[] = [];
  for (const operation of chosen) {
    try {
      const given = classes.findLast(({ matches }) => matches(operation))?.sideEffects;
      const one = importOperation(document, operation, access, given);
      registry.register(one.tool as unknown as Tool);
      for (const lacks of one.notes) note(operation.at, `${operation.title} is imported without ${lacks}`);
      imported.push({ ...one, found: operation });
    } catch (error) {
      note(operation.at, `${operation.title} is left out: ${reasonOf(error)}`);
    }
  }
  await print(terminal.stderr, showProblems(notes));
  const left = chosen.length - imported.length;
  await print(
    terminal.stderr,
    shown`${count(imported.length, "tool")}; ${count(left, "operation")} left out`,
  );
  if (imported.length === 0) return EXIT_BAD_INPUT;
  const files = new Map([
    ["sandgate.yaml", configText(command, imported)],
    ["policy.yaml", policyText(imported)],
  ]);
  for (const [name, text] of files) checkSize(name, text);
  const secrets = [...new Set(imported.flatMap((one) => one.secrets))];
  if (secrets.length > 0)
    await print(
      terminal.stderr,
      shown`The tools need these secrets, as environment variables: ${secrets.join(", ")}`,
    );
  const config = command.out === "." ? "sandgate.yaml" : `${command.out}/sandgate.yaml`;
  return writeNewFiles(command.out, files, shown`${ownCommand()} check --config ${config}`, terminal);
}

function count(number: number, what: string): ShownText {
  return shown`${number} ${what}${number === 1 ? "" : "s"}`;
}

/** Returns why an operation is left out. */
function reasonOf(error: unknown): string {
  if (error instanceof LeftOutError) return error.message;
  if (error instanceof ToolRegistrationError) return error.reasons.join("; ");
  if (error instanceof SchemaError) return `its schema cannot be used: ${error.message}`;
  throw error;
}

/** @throws {UsageError} if there is no origin, or an option is invalid. */
function readAccess({ origins, secrets, file }: ImportCommand, document: OpenApiDocument): Access {
  if (origins.length === 0) {
    const proposed = proposedOrigins(document);
    const proposal = proposed.length === 0 ? shown`none` : shown`${proposed.join(", ")}`;
    throw new UsageError(shown`--origin ORIGIN is missing: ${file} proposes ${proposal}`);
  }
  for (const origin of origins) {
    const url = parseHttpUrl(origin);
    if (typeof url === "string" || `${url.origin}/` !== url.href)
      throw new UsageError(shown`--origin must be like https://api.example.com, not '${origin}'`);
  }
  const names = secrets.map((text) => splitAt(text, "--secret", "SCHEME=NAME"));
  for (const [scheme, name] of names) {
    if (!/^[\w.-]+$/.test(name))
      throw new UsageError(shown`--secret ${scheme}=… must have a name of letters, digits, '_', '-' and '.'`);
  }
  return { origins: origins.map((origin) => new URL(origin).origin), secrets: new Map(names) };
}

function splitAt(text: string, option: string, form: string): readonly [string, string] {
  const at = text.lastIndexOf("=");
  if (at < 1 || at === text.length - 1) throw new UsageError(shown`${option} must be ${form}, not '${text}'`);
  return [text.slice(0, at), text.slice(at + 1)];
}

interface OperationClass {
  readonly matches: (operation: FoundOperation) => boolean;
  readonly sideEffects: SideEffects;
}

function readClasses(texts: readonly string[]): readonly OperationClass[] {
  return texts.map((text) => {
    const [pattern, name] = splitAt(text, "--side-effects", "OPERATION=CLASS");
    const sideEffects = SIDE_EFFECTS.find((one) => one === name);
    if (sideEffects === undefined)
      throw new UsageError(shown`--side-effects ${pattern}=… must be one of ${SIDE_EFFECTS.join(", ")}`, {
        word: name,
        known: SIDE_EFFECTS,
      });
    return { matches: matcherOf(pattern), sideEffects };
  });
}

function matcherOf(pattern: string): (operation: FoundOperation) => boolean {
  const compiled = compileNamePattern(pattern);
  return ({ id, title }) => (id !== undefined && compiled.matches(id)) || compiled.matches(title);
}

/** @throws {UsageError} if a pattern matches no operation. */
function choose(found: readonly FoundOperation[], patterns: readonly string[]): readonly FoundOperation[] {
  if (patterns.length === 0) return found;
  const chosen = new Set<FoundOperation>();
  for (const pattern of patterns) {
    const matching = found.filter(matcherOf(pattern));
    if (matching.length === 0)
      throw new UsageError(shown`--operations '${pattern}' matches no operation of the document`, {
        word: pattern,
        known: found.flatMap(({ id }) => id ?? []),
      });
    for (const operation of matching) chosen.add(operation);
  }
  return found.filter((operation) => chosen.has(operation));
}

function configText({ file }: ImportCommand, imported: readonly ImportedOperation[]): string {
  return yamlText(
    [`Written by 'sandgate tool import' from ${file}. Descriptions and schemas are those of the document.`],
    { tools: imported.map(({ tool }) => tool), policy: "policy.yaml" },
  );
}

/** A rule for each path and effect, with no more than its operations need. */
function policyText(imported: readonly (ImportedOperation & { readonly found: FoundOperation })[]): string {
  const groups = Map.groupBy(imported, ({ found, isSafe, origin, secrets }) =>
    JSON.stringify([found.path, isSafe, origin, secrets]),
  );
  const rules = Array.from(groups.values(), (operations) => {
    const [{ found, isSafe, origin, secrets } = operations[0] as (typeof operations)[0]] = operations;
    const methods = operations.map((one) => one.found.method).join(", ");
    return {
      name: `${methods} ${found.path}`,
      tools: operations.map(({ tool }) => tool.name),
      effect: isSafe ? "allow" : "ask",
      sandboxes: ["remote"],
      limits: LIMITS,
      capabilities: { net: [netGrant(origin)], ...(secrets.length > 0 && { secrets }) },
    };
  });
  const notes = [
    "Written by 'sandgate tool import': a rule for each path. What asks for no change is allowed;",
    "before all other calls, a person is asked.",
  ];
  return yamlText(notes, { rules });
}

/** The person named an address: only that is granted. A name is granted its public addresses. */
function netGrant(origin: string): unknown {
  const { hostname } = new URL(origin);
  const address = hostname.startsWith("[") ? `${hostname.slice(1, -1)}/128` : `${hostname}/32`;
  return /^[\d.]+$|^\[/.test(hostname) ? { origin, addresses: [address] } : origin;
}

/** The members that are short lists and maps. */
const ON_ONE_LINE = ["sandboxes", "limits", "capabilities", "response", "required", "enum"];

/** Writes YAML in which no character is invisible, or changes the order of those around it. */
function yamlText(comment: readonly string[], value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  document.commentBefore = comment.map((line) => ` ${line.replace(UNPRINTABLE, " ")}`).join("\n");
  visit(document, {
    Pair: (_, { key, value: inner }) => {
      if (isScalar(key) && ON_ONE_LINE.includes(String(key.value)) && isCollection(inner)) inner.flow = true;
    },
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== "string") return;
      if (scalar.value.replaceAll("\n", "").search(UNPRINTABLE) !== -1) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return document
    .toString({ lineWidth: 110 })
    .replace(UNPRINTABLE, (character) => (character === "\n" ? character : escaped(character)));
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/** @throws {UsageError} if a file would be larger than a config can be. */
function checkSize(name: string, text: string): void {
  try {
    ConfigSource.parse(text, name);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [problem] = error.problems;
    throw new UsageError(
      shown`the tools do not fit into ${name} (${problem?.message ?? ""}): choose fewer with --operations`,
    );
  }
}
