/** The option `--config` without its help. */
export const CONFIG = { type: "string", short: "c", value: "sandgate.yaml" } as const;

/** The option `--config` of commands that cannot do without. */
export const REQUIRED_CONFIG = {
  config: {
    type: "string",
    short: "c",
    value: "sandgate.yaml",
    required: true,
    help: "the config, with the tools, the policy and the sandboxes",
  },
} as const;

/** The option `--json`. */
export const JSON_OUTPUT = { json: { type: "boolean", help: "prints JSON" } } as const;
