/**
 * What confines a program: `namespaces`, in which it sees nothing but what it is granted, or `landlock`, which holds less:
 * see `docs/programs.md`.
 */
export type Isolation = (typeof ISOLATIONS)[number];

/** All of them; those that hold more come first. */
export const ISOLATIONS = ["namespaces", "landlock"] as const;
