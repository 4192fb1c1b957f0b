/** What generated code takes from an interface: functions in camel case, resources as classes. */
export type WasiMembers = Readonly<Record<string, unknown>>;
