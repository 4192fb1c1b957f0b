// Worker tools in the threads of an embedder's Piscina

export { piscinaPool } from "../sandboxes/threads/piscina/piscina-pool.ts";
export type { ForeignPool } from "../sandboxes/threads/pool-task.ts";
