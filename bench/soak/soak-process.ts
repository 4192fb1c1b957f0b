/** The process of a soak: `node soak-process.ts SECONDS`. It is separate, so that nothing else takes memory. */
import { soak } from "./soak.ts";

process.send?.(await soak(Number(process.argv[2])));
process.disconnect?.();
