import { Document } from "yaml";
import type { RegisteredTool } from "../../../engine/registered-tool.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { ToolField } from "../../../policy/call-history.ts";
import { outputWith, replaced } from "../../../policy/learn-rules.ts";
import { checkDecision, type RuntimePolicy } from "../../../policy/policy.ts";
import { regexTexts } from "../../../policy/possible/schema-values.ts";
import { type CallSketch, sketchCalls } from "../../../policy/proof/witness-search.ts";
import { type PolicyRule, usedBy } from "../../../policy/rule/rule.ts";
import { concernedTools } from "../../../policy/rule/rule-matcher.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal.ts";
import { requestOf, type WrittenCase } from "./case-request.ts";
import {
  CHOSEN,
  CODE,
  chosenFor,
  isChosen,
  isDestination,
  leaves,
  suggestive,
  textsIn,
  URL_NAME,
  withTexts,
} from "./chosen-values.ts";
import { loadConfiguredPolicy } from "./load.ts";

/** The bad ends, by name, with a description of each. */
const BAD_ENDS = {
  "untrusted-to-execution": "what an outsider wrote is executed, at once or after it was written somewhere",
  "secret-to-outsider": "what a tool read is sent to where an outsider chose",
  "own-rules": "a policy or a config of Sandgate is written",
  "lethal-trifecta":
    "a session reads what outsiders wrote and what they must not know, and sends that anywhere",
  "money-to-strangers": "money goes to whom an outsider chose",
} as const;

type BadEnd = keyof typeof BAD_ENDS;

/** Options of `sandgate policy attack`. */
interface AttackOptions {
  readonly config: string;
  /** Default: all of them. */
  readonly bad: BadEnd | undefined;
}

/** A call of an attack, with what its tool returns in the model. */
interface Step {
  readonly tool: string;
  readonly arguments: JsonValue;
  readonly principal: CallSketch["principal"];
  readonly output: JsonValue;
}

const LEFT_OUT =
  "The model leaves out: what tools do with their arguments, and return besides; what people answer; values that rules count or add up; " +
  "sequences with more than one call of preparation; arguments that schemas and rules do not suggest.";

const SECRET = "SECRET-4711";
const OWN_FILES = ["sandgate.yaml", "policy.yaml", "./sandgate.yaml"];
const MONEY = /pay|money|transfer|refund|payout|invoice|purchase|transaction/i;
const MAX_SKETCHES = 24;

/**
 * Looks for sequences of calls that reach a bad end, although the policy allows each of them without a question. Prints the
 * shortest as cases of `sandgate policy test`. The exit code is 1 if there is one.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function attack({ config, bad }: AttackOptions, terminal: Terminal): Promise<ExitCode> {
  const { policy, registry } = await loadConfiguredPolicy(config, terminal);
  const search = new AttackSearch(policy, registry);
  let found = 0;
  for (const end of bad === undefined ? (Object.keys(BAD_ENDS) as BadEnd[]) : [bad]) {
    const steps = await search.find(end);
    if (steps === undefined) await print(terminal.stdout, shown`# ${end}: none within the model`);
    else {
      found++;
      const cases = new Document(casesOf(end, steps, search.userTextFor(steps)), {
        aliasDuplicateObjects: false,
      });
      const text = cases.toString({ lineWidth: 110 }).trimEnd().split("\n");
      const heading = shown`# ${end}: ${BAD_ENDS[end]}`;
      await print(terminal.stdout, joinShown([heading, ...text.map((line) => shown`${line}`)], "\n"));
    }
  }
  await print(terminal.stdout, shown`# ${LEFT_OUT}`);
  return found === 0 ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** Each step is allowed after those before it. */
function casesOf(end: BadEnd, steps: readonly Step[], userText: string): readonly WrittenCase[] {
  return steps.map(({ tool, arguments: input, principal }, index) => ({
    name: `${end}, step ${index + 1} of ${steps.length}`,
    call: { tool, arguments: input },
    ...(principal !== undefined && { principal }),
    userText,
    ...(index > 0 && { earlier: steps.slice(0, index).map(earlierOf) }),
    expect: "allow",
  }));
}

function earlierOf({ tool, arguments: input, output }: Step): NonNullable<WrittenCase["earlier"]>[number] {
  return { call: { tool, arguments: input }, output };
}

/**
 * Searches the calls that rules and schemas suggest. The user is as helpful as can be: they said every value that no outsider
 * chose, and the words that rules ask for.
 */
class AttackSearch {
  readonly #policy: RuntimePolicy;
  readonly #registry: ToolRegistry;
  readonly #rules: readonly PolicyRule[];
  readonly #untrusted: readonly ToolField[];
  readonly #words: readonly string[];

  constructor(policy: RuntimePolicy, registry: ToolRegistry) {
    this.#policy = policy;
    this.#registry = registry;
    this.#rules = (policy.sources ?? []).flatMap((source) => {
      const options = JSON.parse(source) as { readonly rules?: readonly PolicyRule[] };
      return options.rules ?? [];
    });
    const marked = policy.trackedFields?.untrusted ?? [];
    const reading = this.#tools.filter(({ subject }) => ["read", "network"].includes(subject.sideEffects));
    // A policy that says nothing of what outsiders can write has to expect it of every result.
    this.#untrusted =
      marked.length > 0 ? marked : reading.map(({ subject }) => ({ tool: subject.name, field: "" }));
    this.#words = this.#rules.flatMap(({ asked }) =>
      asked === undefined ? [] : regexTexts(asked).slice(0, 1),
    );
  }

  /** What the user said: nothing that an outsider chose, and no secret. */
  userTextFor(steps: readonly Step[]): string {
    const values = steps.flatMap(({ arguments: input }) => leaves(input).map(({ value }) => String(value)));
    const said = values.filter((value) => !isChosen(value) && !value.includes(SECRET));
    return [...new Set([...this.#words, ...said])].join("\n");
  }

  async find(end: BadEnd): Promise<readonly Step[] | undefined> {
    const untrusted = await this.#readings(this.#untrusted, false);
    if (end === "own-rules") return this.#shortest([[], ...untrusted], (tool) => this.#ownRules(tool));
    if (end === "money-to-strangers")
      return this.#shortest(untrusted, (tool) => (isPaying(tool) ? this.#withChosen(tool, "") : []));
    if (end === "untrusted-to-execution") return this.#toExecution(untrusted);
    const secrets = await this.#readings(this.#secretFields(), true);
    const both = secrets.flatMap((secret) => untrusted.map((reading) => [...secret, ...reading]));
    return this.#shortest(both, (tool) => {
      if (!["network", "destructive"].includes(tool.subject.sideEffects)) return [];
      return end === "secret-to-outsider"
        ? this.#withChosen(tool, SECRET)
        : this.#sketches(tool).flatMap((sketch) => withTexts(sketch, [SECRET]));
    });
  }

  get #tools(): readonly RegisteredTool[] {
    return this.#registry.names.flatMap((name) => this.#registry.find(name) ?? []);
  }

  /** Results of tools that read: files have secrets, too, although outsiders write some. */
  #secretFields(): readonly ToolField[] {
    const tracked = this.#policy.trackedFields?.contents ?? [];
    const whole = this.#tools
      .filter(({ subject }) => subject.sideEffects === "read")
      .map(({ subject }) => ({ tool: subject.name, field: "" }));
    // What a rule excludes from texts counts as a secret.
    return [...tracked, ...whole.filter(({ tool }) => tracked.every((field) => field.tool !== tool))];
  }

  async #toExecution(untrusted: readonly (readonly Step[])[]): Promise<readonly Step[] | undefined> {
    const isExecuting = ({ subject }: RegisteredTool): boolean => subject.sideEffects === "execute";
    const direct = await this.#shortest(untrusted, (tool) =>
      isExecuting(tool) ? this.#sketches(tool).flatMap((sketch) => withTexts(sketch, [CODE])) : [],
    );
    if (direct !== undefined) return direct;
    for (const reading of untrusted) {
      const written = await this.#shortest([reading], (tool) =>
        ["write", "network"].includes(tool.subject.sideEffects)
          ? this.#sketches(tool).flatMap((sketch) => withTexts(sketch, [CODE]))
          : [],
      );
      if (written === undefined) continue;
      const executed = await this.#shortest([written], (tool) =>
        isExecuting(tool) ? this.#sketches(tool) : [],
      );
      if (executed !== undefined) return executed;
    }
    return undefined;
  }

  /** Allowed calls whose results have what an outsider wrote, or a secret. */
  async #readings(fields: readonly ToolField[], isSecret: boolean): Promise<readonly (readonly Step[])[]> {
    const found: (readonly Step[])[] = [];
    for (const { tool: name, field } of fields) {
      const tool = this.#registry.find(name);
      if (tool === undefined) continue;
      const output = outputWith(
        parsePointer(field),
        isSecret ? SECRET : field === "" ? CHOSEN.join("\n") : (CHOSEN[0] ?? ""),
      );
      const [steps] = await this.#allowed([], this.#sketches(tool), tool, output);
      if (steps !== undefined) found.push(steps);
    }
    return found;
  }

  async #shortest(
    prefixes: readonly (readonly Step[])[],
    ends: (tool: RegisteredTool) => readonly CallSketch[],
  ): Promise<readonly Step[] | undefined> {
    let best: readonly Step[] | undefined;
    for (const prefix of prefixes) {
      for (const tool of this.#tools) {
        const sketches = ends(tool);
        if (sketches.length === 0) continue;
        const [steps] = await this.#allowed(prefix, sketches, tool, null);
        if (steps !== undefined && (best === undefined || steps.length < best.length)) best = steps;
      }
    }
    return best;
  }

  /** Yields sequences whose last call is allowed, at first without calls that only prepare it. */
  async #allowed(
    prefix: readonly Step[],
    sketches: readonly CallSketch[],
    { subject }: RegisteredTool,
    output: JsonValue,
  ): Promise<readonly (readonly Step[])[]> {
    const preparations: readonly (readonly Step[])[] = [[], ...this.#preparations(subject.name)];
    for (const preparation of preparations) {
      for (const { input, principal } of sketches) {
        const supplied = this.#sourcesFor(subject.name, input);
        for (const sources of [[], ...supplied]) {
          const last = { tool: subject.name, arguments: input, principal, output };
          const steps = [...prefix, ...preparation, ...sources, last];
          const userText = this.userTextFor(steps);
          if (await this.#allows(steps, userText)) return [steps];
        }
      }
    }
    return [];
  }

  async #allows(steps: readonly Step[], userText: string): Promise<boolean> {
    for (const written of casesOf("own-rules", steps, userText)) {
      const read = await requestOf(written, {
        registry: this.#registry,
        tracked: this.#policy.trackedFields,
        directory: process.cwd(),
      });
      if ("flaws" in read) return false;
      if (checkDecision(await this.#policy.check(read.request)).decision !== "allow") return false;
    }
    return true;
  }

  /** Calls that rules about a tool want to have been made before. */
  #preparations(name: string): readonly (readonly Step[])[] {
    const before = this.#rulesOf(name).flatMap(({ history = [] }) =>
      history.flatMap((condition) => ("after" in condition ? condition.after : [])),
    );
    if (before.length === 0) return [];
    return this.#tools
      .filter(({ subject }) => concernedTools({ tools: before }, [subject]).length > 0)
      .flatMap((tool) =>
        this.#sketches(tool)
          .slice(0, 4)
          .map(({ input, principal }) => [
            { tool: tool.subject.name, arguments: input, principal, output: null },
          ]),
      );
  }

  /** Calls whose results are trusted, and have the values of a call that no outsider chose. */
  #sourcesFor(name: string, input: JsonValue): readonly (readonly Step[])[] {
    const fields = JSON.stringify(this.#rulesOf(name).map(({ when }) => when ?? {}));
    const tracked = (this.#policy.trackedFields?.sources ?? []).filter(
      (source) => "tool" in source && fields.includes(JSON.stringify(source.tool)),
    ) as readonly ToolField[];
    const values = leaves(input).filter(
      ({ value }) => !isChosen(String(value)) && !String(value).includes(SECRET),
    );
    return tracked.flatMap(({ tool: from, field }) => {
      const tool = this.#registry.find(from);
      const [sketch] = tool === undefined ? [] : this.#sketches(tool);
      if (sketch === undefined) return [];
      return values.map(({ value }) => [
        {
          tool: from,
          arguments: sketch.input,
          principal: sketch.principal,
          output: outputWith(parsePointer(field), value),
        },
      ]);
    });
  }

  #rulesOf(name: string): readonly PolicyRule[] {
    const subject = this.#registry.find(name)?.subject;
    if (subject === undefined) return [];
    return this.#rules.filter((rule) => rule.effect !== "deny" && concernedTools(rule, [subject]).length > 0);
  }

  /** Calls that the rules of a tool suggest, and those with all optional arguments that are texts. */
  #sketches({ subject }: RegisteredTool): readonly CallSketch[] {
    const found: CallSketch[] = [];
    for (const rule of this.#rulesOf(subject.name)) {
      const use = usedBy(rule);
      const uses = use === undefined ? [] : [use];
      const { when = {}, ...others } = rule;
      // Of values that have to come from somewhere, conditions suggest none.
      for (const each of [rule, { ...others, when: suggestive(when) } as PolicyRule]) {
        found.push(...sketchCalls([each], uses, subject.inputSchema).take(MAX_SKETCHES));
      }
    }
    const { properties } = subject.inputSchema;
    const texts = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, schema]) =>
      isJsonObject(schema ?? null) && (schema as JsonObject)["type"] === "string" ? [name] : [],
    );
    const filled = found.flatMap((sketch) => {
      if (!isJsonObject(sketch.input)) return [];
      const set = Object.entries(sketch.input).filter(([, value]) => value !== "");
      const input = { ...Object.fromEntries(texts.map((name) => [name, "ann"])), ...Object.fromEntries(set) };
      return [{ ...sketch, input: input as JsonObject }];
    });
    return [...found, ...filled];
  }

  /** Calls in which an outsider chose where something goes, and one other text has what is given. */
  #withChosen(tool: RegisteredTool, text: string): readonly CallSketch[] {
    return this.#sketches(tool).flatMap((sketch) =>
      leaves(sketch.input)
        .filter(({ pointer, value }) => typeof value === "string" && isDestination(pointer))
        .flatMap(({ pointer, value }) =>
          [String(value), ...textsIn(this.#rulesOf(tool.subject.name))]
            .flatMap((text) => chosenFor(pointer, text))
            .flatMap((chosen) => {
              const to = { ...sketch, input: replaced(sketch.input, parsePointer(pointer), chosen) };
              if (text === "") return [to];
              const isUrl = URL_NAME.test(pointer);
              const inUrl = isUrl
                ? [{ ...sketch, input: replaced(sketch.input, parsePointer(pointer), `${chosen}${text}`) }]
                : [];
              return [...inUrl, ...withTexts(to, [text], (each) => each !== pointer)];
            }),
        ),
    );
  }

  /** The engine itself protects these files from tools whose paths it knows. */
  #ownRules(registered: RegisteredTool): readonly CallSketch[] {
    const { subject, tool, declared } = registered;
    if (declared !== undefined || tool.usesFiles !== undefined) return [];
    if (!["write", "execute", "destructive"].includes(subject.sideEffects)) return [];
    return this.#sketches(registered).flatMap((sketch) =>
      withTexts(sketch, OWN_FILES, (pointer) => /path|file|name|target/i.test(pointer)),
    );
  }
}

function isPaying({ subject: { name, sideEffects } }: RegisteredTool): boolean {
  return MONEY.test(name) && !["none", "read"].includes(sideEffects);
}
