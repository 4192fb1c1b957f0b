/** What an interface has: functions in camel case, resources as classes. */
export type InterfaceMembers = Readonly<Record<string, unknown>>;
