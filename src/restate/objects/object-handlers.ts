/** Handlers of a virtual object, by name. */
// biome-ignore lint/suspicious/noExplicitAny: a handler takes any context and input
export type ObjectHandlers = Readonly<Record<string, (ctx: any, input: any) => Promise<unknown>>>;
