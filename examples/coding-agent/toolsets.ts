import { type KeyValueStores, ToolRegistry } from "sandgate";
import { registerToolset } from "sandgate/toolsets";

/** What `get_setting` reads. A real agent has its settings in a file. */
const SETTINGS = new Map([["branch-prefix", "agent/"]]);

/**
 * Registers all toolsets but `basic5`, whose tools are those of `fs` and `shell`.
 *
 * @param stores Where `memory_add` keeps what the agent remembers.
 */
export function registerTools(stores: KeyValueStores): ToolRegistry {
  const registry = new ToolRegistry();
  registerToolset(registry, "basic");
  registerToolset(registry, "fs");
  registerToolset(registry, "search");
  registerToolset(registry, "index");
  registerToolset(registry, "shell", { testCommand: "sh test.sh" });
  registerToolset(registry, "git", {
    author: { name: "Agent", email: "agent@example.com" },
    commitTrailers: () => ({ "X-AI-Model": "claude-sonnet-5-5" }),
  });
  registerToolset(registry, "diagnostics", { command: ["sh", "lint.sh"] });
  registerToolset(registry, "system");
  registerToolset(registry, "web");
  registerToolset(registry, "ask");
  registerToolset(registry, "memory", { stores });
  registerToolset(registry, "settings", {
    get: (name) => SETTINGS.get(name),
    update: () => false,
    switchBackend: () => false,
  });
  return registry;
}
