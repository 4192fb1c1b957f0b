import { flushCompileCache } from "node:module";

/**
 * Has a process write what it compiled while it runs (`--import`, or `import` of its program): Node.js does so as a process ends, and
 * one that is killed never does, so that each of its successors would compile hundreds of modules again.
 */
flushCompileCache();
setInterval(flushCompileCache, 500).unref();
