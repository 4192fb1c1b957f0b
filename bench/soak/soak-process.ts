/** The process of a soak, where nothing else takes memory: `node soak-process.ts SECONDS`. */
import { soak } from "./soak.ts";

process.send?.(await soak(Number(process.argv[2])));
process.disconnect?.();
