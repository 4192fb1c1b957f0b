import type { Flat, Shape, TypeOf } from "../json/shape.ts";
import type { OPERATIONS } from "./api.ts";
import type { AnswerBody } from "./operation.ts";

/** Types only: a client has neither the checks nor the prose of the routes. */
type Api = typeof OPERATIONS;

/** The line of each route: `GET /v1/sessions/:id`. */
type Lines = { readonly [Name in keyof Api]: `${Api[Name]["method"]} ${Api[Name]["path"]}` };

/** A route of the server, by its method and path. */
export type Route = Lines[keyof Api];

type OperationOf<Of extends Route> = {
  readonly [Name in keyof Api]: Lines[Name] extends Of ? Api[Name] : never;
}[keyof Api];

/** The names of the parameters of a path. */
type ParameterOf<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** Parameters of a query; those that are `undefined` or empty are not sent. */
type QueryOf<Query> = { readonly [Name in keyof Query]?: TypeOf<Query[Name]> | "" | undefined };

type BodyOf<Body> = Body extends Shape<unknown> ? TypeOf<Body> : unknown;

/** What a request of a route is made of, besides the route. */
export type Input<Of extends Route> = Flat<
  ([ParameterOf<Of>] extends [never]
    ? unknown
    : { readonly params: Readonly<Record<ParameterOf<Of>, string>> }) &
    (OperationOf<Of> extends { readonly query: infer Query }
      ? { readonly query?: QueryOf<Query> }
      : unknown) &
    (OperationOf<Of> extends { readonly body: infer Body } ? { readonly body: BodyOf<Body> } : unknown)
>;

/** The arguments after the route: none if it needs none. */
export type Inputs<Of extends Route> =
  Record<never, never> extends Input<Of> ? [input?: Input<Of>] : [input: Input<Of>];

/** The JSON body of the answer of a request that succeeds; `undefined` if it has none. */
export type AnswerTo<Of extends Route> = SuccessOf<OperationOf<Of>>;

type SuccessOf<Of> = Of extends Api[keyof Api]
  ? [Success<Of>] extends [never]
    ? undefined
    : AnswerBody<Of, Success<Of>>
  : never;

type Success<Of extends Api[keyof Api]> = Extract<keyof Of["answers"], 200 | 201>;

/** A request as it is sent. */
export interface SentRequest {
  readonly method: string;
  /** With the parameters and the query. */
  readonly path: string;
  /** The JSON value of the body; `undefined` if there is none. */
  readonly body: unknown;
}

interface UncheckedInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
}

/** Writes a request of a route. Its types are those that the server checks with, and that `docs/openapi.yaml` has. */
export function requestTo<Of extends Route>(route: Of, ...inputs: Inputs<Of>): SentRequest;
export function requestTo(route: Route, ...inputs: readonly unknown[]): SentRequest {
  const { params, query: parameters = {}, body } = (inputs[0] ?? {}) as UncheckedInput;
  const [method = "", path = ""] = route.split(" ");
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const target = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ""));
  return { method, path: query.size === 0 ? target : `${target}?${query}`, body };
}
