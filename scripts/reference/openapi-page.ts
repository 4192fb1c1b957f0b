import { stringify } from "yaml";
import type { OptionalMember, Shape } from "../../src/json/shape.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json/value.ts";
import * as protocolProblems from "../../src/remote-protocol/problems.ts";
import * as protocol from "../../src/remote-protocol/shapes.ts";
import { OPERATIONS, refusalsOf } from "../../src/shapes/api.ts";
import * as calls from "../../src/shapes/calls.ts";
import * as confirmations from "../../src/shapes/confirmations.ts";
import { EXECUTOR_REFUSALS } from "../../src/shapes/executor.ts";
import * as journal from "../../src/shapes/journal.ts";
import type { Answer, Content, Operation, Reason } from "../../src/shapes/operation.ts";
import * as common from "../../src/shapes/operation.ts";
import * as pages from "../../src/shapes/pages.ts";
import * as server from "../../src/shapes/server.ts";
import * as sessions from "../../src/shapes/sessions.ts";
import * as turns from "../../src/shapes/turns.ts";

const HEAD = `# Written by scripts/openapi.ts from the routes and bodies in src/shapes and src/remote-protocol, which the server uses as well.
`;

const INFO = {
  openapi: "3.1.0",
  info: {
    title: "Sandgate",
    version: "1.0.0",
    description: `Dispatches tool calls of other processes. remote-protocol.md describes the executor's part, and http-api.md that of
sessions, which only servers of sessions have.

On a server of sessions, \`x-roles\` of an operation are the roles of which a client needs one, and \`x-session\` says what it
must be to the session of the path: \`sees\` (its caller, or one who inspects it), \`owns\` (its caller) or \`approves\` (an
approver for its caller). A session that the client does not see is not found. Operations without \`x-roles\` check
no role, and an executor without sessions has none.
`,
    license: { name: "Apache-2.0", identifier: "Apache-2.0" },
  },
  servers: [{ url: "http://127.0.0.1:7420" }],
  security: [{ signature: [] }, { bearer: [] }, { console: [] }, {}],
};

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer" },
  console: {
    type: "apiKey",
    in: "cookie",
    name: "sandgate_console",
    description: "The cookie of a login at /v1/console/session, from the page that logged in.",
  },
  signature: {
    type: "apiKey",
    in: "header",
    name: "signature",
    description:
      "HTTP Message Signatures (RFC 9421) with Ed25519, together with signature-input, and content-digest (RFC 9530) if there is a body.",
  },
};

/** The parameters of paths. */
const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  id: { description: "The id of the session.", schema: { type: "string" } },
  turnId: { description: "The id of the turn.", schema: { type: "string" } },
  requestId: { description: "The id of the confirmation.", schema: { type: "string" } },
  approvalId: { description: "The id of the approval.", schema: { type: "string" } },
  ref: { description: "The reference of the call.", schema: { type: "string" } },
  seq: { description: "The number of the record of its begin or its denial.", schema: { type: "integer" } },
  path: {
    description: "The name of the file, with its folder, such as assets/console-0123456789ab.js.",
    schema: { type: "string" },
  },
};

const RETRY_AFTER = {
  "retry-after": { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
};

/** The bodies that the document names: what the modules of bodies export under names that begin with a capital letter. */
const COMPONENTS: readonly (readonly [string, object])[] = [
  protocol,
  protocolProblems,
  sessions,
  turns,
  confirmations,
  calls,
  journal,
  server,
  pages,
  common,
]
  // Vite's modules are not in the order of the language.
  .flatMap((module) => Object.entries(module).sort(([one], [other]) => (one < other ? -1 : 1)))
  .filter((entry): entry is [string, object] => /^[A-Z][a-z]/.test(entry[0]) && isShape(entry[1]));

const NAMES = new Map<unknown, string>(COMPONENTS.map(([name, shape]) => [shape, name]));

function isShape(exported: unknown): boolean {
  return isJsonObject(exported) && ("type" in exported || "enum" in exported || "anyOf" in exported);
}

/** Writes the OpenAPI document. */
export function openApiText(): string {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const path = operation.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(name, operation) };
  }
  const used = new Set(Object.values(OPERATIONS).flatMap((operation) => refusalsOf(operation).map(nameOf)));
  const responses = Object.fromEntries(
    [...REASONS].filter(([name]) => used.has(name)).map(([name, reason]) => [name, refusalObject(reason)]),
  );
  const text = JSON.stringify([paths, responses]);
  const schemas = COMPONENTS.map(
    ([name, shape]) => [name, withReferences(shape as JsonObject, shape)] as const,
  );
  const isUsed = (name: string): boolean =>
    [text, ...schemas.map(([, schema]) => JSON.stringify(schema))].some((each) =>
      each.includes(`"#/components/schemas/${name}"`),
    );
  const named = [...EVENT_DATA];
  const document = {
    ...INFO,
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      responses,
      schemas: Object.fromEntries(schemas.filter(([name]) => named.includes(name) || isUsed(name))),
    },
  };
  return HEAD + stringify(document, { lineWidth: 120, aliasDuplicateObjects: false });
}

/** Bodies that only the prose of a stream names. */
const EVENT_DATA = ["Output", "Log", "CallFeedEvent", "SessionEvent"];

function operationObject(name: string, operation: Operation): object {
  const { path, summary, description, access, query = {}, headers = {}, body, answers } = operation;
  const isOpen = access.roles.length === 0 && !refusalsOf(operation).some(({ status }) => status === 401);
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, parameter = ""]) => ({
      name: parameter,
      in: "path",
      required: true,
      ...PATH_PARAMETERS[parameter],
    })),
    ...Object.entries(query).map(([parameter, shape]) => ({
      name: parameter,
      in: "query",
      ...withDescription(shape),
    })),
    ...Object.entries(headers).map(([header, shape]) => ({
      name: header,
      in: "header",
      ...(!isOptional(shape) && { required: true }),
      ...withDescription(isOptional(shape) ? shape.optional : shape),
    })),
  ];
  const { default: otherwise, ...byStatus } = answers;
  const responses = Object.fromEntries([
    ...Object.entries(byStatus).map(([status, answer]) => [status, answerObject(answer as Answer)]),
    ...refusalsOf(operation).map((reason) => [
      reason.status,
      { $ref: `#/components/responses/${nameOf(reason)}` },
    ]),
    ...(otherwise === undefined ? [] : [["default", answerObject(otherwise)]]),
  ]);
  return {
    operationId: name,
    ...(access.roles.length > 0 && { "x-roles": [...access.roles] }),
    ...(access.session && { "x-session": access.session }),
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(isOpen && { security: [{}] }),
    ...(body && {
      requestBody: {
        required: true,
        content: contentOf(
          "content" in body ? (body.content as Content) : { "application/json": body as Shape<unknown> },
        ),
      },
    }),
    responses,
  };
}

/** Why requests are refused, by name: those of a server of sessions, and of an executor by their codes. */
const REASONS = new Map<string, Reason>([
  ...Object.entries(common.REFUSALS),
  ...Object.entries(EXECUTOR_REFUSALS).map(([code, reason]): [string, Reason] => {
    const words = code.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
    return [`Executor${words.join("")}`, reason];
  }),
]);

function nameOf(reason: Reason): string {
  const found = [...REASONS].find(([, each]) => each === reason);
  if (found === undefined) throw new Error(`a refusal with the status ${reason.status} has no name`);
  return found[0];
}

function refusalObject({ status, description, body }: Reason): object {
  return {
    description,
    ...((status === 429 || status === 503) && { headers: RETRY_AFTER }),
    content: contentOf({ "application/json": body }),
  };
}

function answerObject({ description, content, headers }: Answer): object {
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, shape]) => [
          name,
          withDescription(isOptional(shape) ? shape.optional : shape),
        ]),
      ),
    }),
    ...(content && { content: contentOf(content) }),
  };
}

function contentOf(content: Content): object {
  return Object.fromEntries(
    Object.entries(content).map(([media, shape]) => [media, { schema: withReferences(shape) }]),
  );
}

/** A parameter or a header: its description stands beside its schema. */
function withDescription(shape: Shape<unknown>): object {
  const { description, ...schema } = shape as JsonObject;
  return { ...(description !== undefined && { description }), schema };
}

function isOptional(shape: Shape<unknown> | OptionalMember<unknown>): shape is OptionalMember<unknown> {
  return "optional" in shape;
}

/** The schema of a shape, with references in place of the bodies that have names, except `self`. */
function withReferences(shape: JsonValue | undefined, self?: object): JsonValue {
  const name = shape === self ? undefined : NAMES.get(shape);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(shape)) return shape.map((each: JsonValue) => withReferences(each));
  if (!isJsonObject(shape)) return shape ?? null;
  const { allOf, ...schema } = shape;
  const members = Object.entries(schema).map(([key, value]) => [key, withReferences(value)] as const);
  const inner = Array.isArray(allOf) ? (withReferences(allOf[0] as JsonValue) as JsonObject) : {};
  return { ...inner, ...Object.fromEntries(members) };
}
