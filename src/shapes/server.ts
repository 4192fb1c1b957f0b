import { ACCESS, ROLES } from "../http/access.ts";
import {
  anyObject,
  boolean,
  integer,
  list,
  object,
  oneOf,
  optional,
  string,
  type TypeOf,
} from "../json/shape.ts";
import { SIDE_EFFECTS } from "../tool/side-effects.ts";
import { json, nothing, operations, PolicyProblems, PrincipalId, REFUSALS } from "./operation.ts";

/** Maximum number of tools of a page. */
export const MAX_LISTED_TOOLS = 500;

export const ConsoleLogin = object({
  token: string({
    minLength: 1,
    maxLength: 4_096,
    description: "A one-time token, or the bearer token of a credential.",
  }),
});
export type ConsoleLogin = TypeOf<typeof ConsoleLogin>;

export const ConsoleServer = object({
  version: string({ description: "The version of Sandgate." }),
  startedAt: integer({ description: "Milliseconds since the epoch." }),
  policyRevision: optional(
    string({ description: "Absent while the server is paused, and if the policy has no revision." }),
  ),
  paused: boolean(),
  journal: boolean({ description: "Whether calls are recorded." }),
  tools: integer({ description: "The number of tools." }),
});
export type ConsoleServer = TypeOf<typeof ConsoleServer>;

export const ConsoleSession = object({
  principal: optional(PrincipalId),
  roles: list(oneOf(ROLES)),
  server: ConsoleServer,
});
export type ConsoleSession = TypeOf<typeof ConsoleSession>;

export const PushKey = object({ publicKey: string({ description: "In base64url." }) });

export const NewPush = object({
  endpoint: string({ minLength: 1, maxLength: 2_048, description: "The URL of the browser's push service." }),
  keys: object({ p256dh: string({ maxLength: 128 }), auth: string({ maxLength: 64 }) }),
});
export type NewPush = TypeOf<typeof NewPush>;

export const ForgottenPush = object({
  endpoint: string({ minLength: 1, maxLength: 2_048, description: "The URL of the browser's push service." }),
});
export type ForgottenPush = TypeOf<typeof ForgottenPush>;

export const ToolList = object({
  tools: list(
    object({
      name: string(),
      description: string({ description: "Of a long one, the beginning and the end." }),
      sideEffects: oneOf(SIDE_EFFECTS),
      sandboxes: list(string()),
      inputSchema: optional(
        string({ description: "Printable JSON text. Absent if it has more than 65,536 characters." }),
      ),
      source: string({ description: "`config`, `component`, or `mcp:` and the name of a server." }),
      pin: object({
        state: oneOf(["pinned", "changed", "new", "none"], {
          description:
            "`none`: nothing is pinned. `new`: the tool is not in the lock. Calls of tools that are `new` or " +
            "`changed` are denied.",
        }),
        diff: optional(
          string({
            description: "Each value of the definition that differs: the approved one above the current one.",
          }),
        ),
      }),
      component: optional(
        object(
          {
            imports: list(string(), {
              maxItems: 200,
              description: "Interfaces, with the capability that each needs.",
            }),
            exports: list(string(), {
              maxItems: 200,
              description: "Functions with their types, in WIT syntax.",
            }),
            more: optional(integer({ description: "The number of further imports and exports." })),
          },
          { description: "Absent if the tool is no component, or if its file cannot be read." },
        ),
      ),
    }),
    { maxItems: MAX_LISTED_TOOLS },
  ),
  next: optional(string({ description: "The `after` of the next page. Absent on the last one." })),
});
export type ToolList = TypeOf<typeof ToolList>;
/** A tool as it is listed. */
export type ShownTool = ToolList["tools"][number];

export const PolicyReplaced = object({ revision: string(), warnings: PolicyProblems });

export const PauseState = object({ paused: boolean() });

export const SERVER = operations({
  getPushKey: {
    method: "GET",
    path: "/v1/console/push",
    summary: "Returns the key with which browsers subscribe; only with notify.webPush.devices",
    access: ACCESS.notifyBrowsers,
    answers: { 200: json(PushKey, "The public key of VAPID.") },
  },
  subscribeBrowser: {
    method: "POST",
    path: "/v1/console/push",
    summary: "Has a browser of the approver notified",
    access: ACCESS.notifyBrowsers,
    body: NewPush,
    answers: { 204: nothing("The browser is notified of what the approver may answer.") },
  },
  unsubscribeBrowser: {
    method: "DELETE",
    path: "/v1/console/push",
    summary: "Has a browser of the approver notified no longer",
    access: ACCESS.notifyBrowsers,
    body: ForgottenPush,
    answers: { 204: nothing("The browser is forgotten, if it was one of the approver.") },
  },
  logIn: {
    method: "POST",
    path: "/v1/console/session",
    summary: "Logs a browser in to the console; only with server.console",
    access: ACCESS.body,
    body: ConsoleLogin,
    answers: {
      204: nothing(
        "The browser has the cookie of a login. It counts for requests of the page that logged in, for 12 " +
          "hours.",
        { "set-cookie": string() },
      ),
    },
  },
  getLogin: {
    method: "GET",
    path: "/v1/console/session",
    summary: "Returns who has logged in, and the state of the server",
    access: ACCESS.console,
    answers: { 200: json(ConsoleSession, "The client and the server.") },
  },
  logOut: {
    method: "DELETE",
    path: "/v1/console/session",
    summary: "Logs the browser out of the console",
    access: ACCESS.logOut,
    answers: { 204: nothing("The login and its streams have ended.", { "set-cookie": string() }) },
  },
  listConsoleTools: {
    method: "GET",
    path: "/v1/console/tools",
    summary: "Lists the tools with their sandboxes, sources and pins, sorted by name",
    access: ACCESS.read,
    query: {
      after: string({ description: "The `next` of an earlier page: the name of a tool." }),
      limit: integer({
        minimum: 1,
        maximum: MAX_LISTED_TOOLS,
        default: 100,
        description: "The most tools of the page.",
      }),
    },
    answers: {
      200: json(
        ToolList,
        "A page of the tools. Texts of tools are rendered: characters that could mislead a reader are " +
          "escaped.",
      ),
    },
    refusals: [REFUSALS.TooManyReads],
  },
  replacePolicy: {
    method: "PUT",
    path: "/v1/policy",
    isAlwaysThere: true,
    summary: "Replaces the policy, after checking it whole; admins only",
    access: ACCESS.administer,
    body: {
      content: {
        "application/yaml": string({
          description: "A policy as in policies.md. Directories are relative to the server's config.",
        }),
        "application/json": anyObject(),
      },
    },
    answers: { 200: json(PolicyReplaced, "The policy is replaced, until the next reload or restart.") },
    refusals: [REFUSALS.TextInvalid, REFUSALS.PolicyInvalid],
  },
  pause: {
    method: "POST",
    path: "/v1/pause",
    isAlwaysThere: true,
    summary: "Pauses the server: no further call begins; admins only",
    access: ACCESS.administer,
    answers: { 200: json(PauseState, "The server is paused, whether or not it was before.") },
  },
  resume: {
    method: "POST",
    path: "/v1/resume",
    isAlwaysThere: true,
    summary: "Ends a pause; admins only",
    access: ACCESS.administer,
    answers: { 200: json(PauseState, "Calls run.") },
  },
});
