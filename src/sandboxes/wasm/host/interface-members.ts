/** What an interface has: functions in camel case, resources as classes. */
export type WasiMembers = Readonly<Record<string, unknown>>;
