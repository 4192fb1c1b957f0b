import type { componentTools as ComponentToolsFunction } from "../tools/component-tools.ts";
import type { inspectComponent as InspectComponentFunction } from "../tools/inspect-component.ts";

/**
 * The tools of a component, for `registry.register`: one for each exported function, or those that a component
 * of the world `sandgate:tool` describes. See `component-tools.ts`, which is loaded with the first call.
 */
export const componentTools: typeof ComponentToolsFunction = async (...given) =>
  (await import("../tools/component-tools.ts")).componentTools(...given);

/** Tells what a component exports and imports. See `inspect-component.ts`, which is loaded with the first call. */
export const inspectComponent: typeof InspectComponentFunction = async (...given) =>
  (await import("../tools/inspect-component.ts")).inspectComponent(...given);
