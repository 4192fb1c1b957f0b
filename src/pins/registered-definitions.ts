import type { ToolRegistry } from "../engine/registry.ts";
import type { JsonObject } from "../json/value.ts";
import { type DefinitionLock, type PinnedDefinition, pinned } from "./definition-lock.ts";

/**
 * Returns the definitions of the registered tools, whether they are approved or not, as a lock would have them.
 *
 * @param servers What MCP servers say about themselves to the model, by the names of the servers. Default: none.
 */
export function registeredDefinitions(
  registry: ToolRegistry<never>,
  servers: ReadonlyMap<string, JsonObject> = new Map(),
): DefinitionLock {
  const tools = registry.names.flatMap((name): [string, PinnedDefinition][] => {
    const found = registry.find(name);
    return found === undefined ? [] : [[name, pinned(found.definition.describe())]];
  });
  return {
    tools: new Map(tools),
    servers: new Map([...servers].map(([name, definition]) => [name, pinned(definition)])),
  };
}
