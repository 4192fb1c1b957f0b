import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import type { ListedOffers, OfferKind } from "../../sandboxes/remote/mcp-client/lists.ts";

/** The longest URI, URI template or name, in characters. */
const MAX_ID = 8_192;

/** The longest definition as JSON text, in characters. */
const MAX_DEFINITION = 65_536;

/** Maximum number of arguments of a prompt. */
const MAX_ARGUMENTS = 64;

/** A resource, a resource template or a prompt of a server, as it was listed. */
export interface ListedOffer {
  readonly kind: OfferKind;
  /** Its URI, its URI template or its name. */
  readonly id: string;
  /** The whole definition, deeply frozen. */
  readonly listed: JsonObject;
}

/** The member that identifies each kind. */
const ID: Readonly<Record<OfferKind, string>> = {
  resources: "uri",
  resourceTemplates: "uriTemplate",
  prompts: "name",
};

/** The offers of a server that can be passed on, and a problem for each one that cannot. */
interface ReadOffers {
  readonly offers: readonly ListedOffer[];
  /** One line for each. They may have text of the server. */
  readonly problems: readonly string[];
}

/**
 * Reads the lists of a server. A malformed definition is skipped, and so are all definitions that share an
 * id.
 */
function readOffers({ items }: Pick<ListedOffers, "items">): ReadOffers {
  const problems: string[] = [];
  const offers: ListedOffer[] = [];
  for (const kind of Object.keys(ID) as OfferKind[]) {
    const byId = new Map<string, ListedOffer | undefined>();
    for (const [index, item] of items[kind].entries()) {
      const offer = readOffer(kind, item);
      if (typeof offer === "string") problems.push(`item ${index + 1} of its ${kind}: ${offer}`);
      else if (!byId.has(offer.id)) byId.set(offer.id, offer);
      else {
        byId.set(offer.id, undefined);
        problems.push(`it has several ${kind} '${offer.id}'`);
      }
    }
    for (const offer of byId.values()) if (offer !== undefined) offers.push(offer);
  }
  return { offers, problems };
}

function readOffer(kind: OfferKind, item: JsonValue): ListedOffer | string {
  if (!isJsonObject(item)) return "it is not an object";
  const { [ID[kind]]: id, name } = item;
  if (typeof id !== "string" || id === "" || id.length > MAX_ID)
    return `its ${ID[kind]} is not a short string`;
  if (typeof name !== "string") return "it has no name";
  for (const member of ["title", "description", "mimeType"]) {
    if (item[member] !== undefined && typeof item[member] !== "string")
      return `its ${member} is not a string`;
  }
  for (const member of ["annotations", "_meta"]) {
    if (item[member] !== undefined && !isJsonObject(item[member])) return `its ${member} is not an object`;
  }
  if (JSON.stringify(item).length > MAX_DEFINITION) return `it has more than ${MAX_DEFINITION} characters`;
  const problem = kind === "prompts" ? argumentProblem(item["arguments"] ?? []) : undefined;
  return problem ?? { kind, id, listed: item };
}

function argumentProblem(args: JsonValue): string | undefined {
  if (!Array.isArray(args) || args.length > MAX_ARGUMENTS) return "its arguments are no short list";
  const names = new Set(args.map((each) => (isJsonObject(each) ? each["name"] : undefined)));
  const areNamed = [...names].every((name) => typeof name === "string") && names.size === args.length;
  return areNamed ? undefined : "its arguments have no names of their own";
}

/** The resources, templates and prompts of one server. */
export class ServerOffers {
  readonly #connection: McpConnection;
  #offers: readonly ListedOffer[] = [];
  #serverName: string | null = null;
  #completes = false;
  #ttlMs: number | undefined;

  constructor(connection: McpConnection) {
    this.#connection = connection;
  }

  get connection(): McpConnection {
    return this.#connection;
  }

  get offers(): readonly ListedOffer[] {
    return this.#offers;
  }

  /** Whether the server suggests values of arguments. */
  get completes(): boolean {
    return this.#completes;
  }

  /** Milliseconds for which the lists are valid; `undefined` if the server did not say. */
  get ttlMs(): number | undefined {
    return this.#ttlMs;
  }

  /** What is pinned of an offer, and under which name: the name of a server has no `/`. */
  pinOf({ kind, id, listed }: ListedOffer): { readonly name: string; readonly definition: JsonObject } {
    const definition = { serverName: this.#serverName, kind, listed };
    return { name: `${this.#connection.name}/${kind}/${id}`, definition };
  }

  /** Reads the lists. Returns a line for each problem, which may have text of the server. */
  async refresh(isCurrent: () => boolean, turn?: Promise<unknown>): Promise<readonly string[]> {
    const listed = await this.#connection.listOffers();
    const { info } = this.#connection;
    await turn;
    if (!isCurrent()) return [];
    const { offers, problems } = readOffers(listed);
    this.#offers = offers;
    this.#serverName = info?.name ?? null;
    this.#completes = info?.capabilities["completions"] !== undefined;
    this.#ttlMs = listed.ttlMs;
    return [...listed.problems, ...problems];
  }
}
