/** Loaded before all else (`--import`): makes the clock of a process wrong by `SANDGATE_CLOCK_MS`. */
const offset = Number(process.env["SANDGATE_CLOCK_MS"] ?? "0");
const { now } = Date;
Date.now = () => now() + offset;
