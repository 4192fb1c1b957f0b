import { readFile } from "node:fs/promises";
import { LiftBudget } from "../../src/sandboxes/wasm/abi/lift-budget.ts";
import { Component } from "../../src/sandboxes/wasm/component/component.ts";
import {
  GUEST_CALL,
  guestArguments,
  readGuestResult,
} from "../../src/sandboxes/wasm/exports/guest-interface.ts";
import { ComponentInstance } from "../../src/sandboxes/wasm/instance/instance.ts";
import { readComponent } from "../../src/sandboxes/wasm/linking/component-reader.ts";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_TEXT, isInput } from "../setting.ts";

/** Opens a case with the work of a thread for a call, without WASI: creates a capped instance and calls it. */
export async function openFreshInstance(): Promise<OpenCase> {
  const binary = await readFile(await contractComponent());
  const { artifact } = await new Component("bench", await readComponent(binary)).withCap(64 * 2 ** 20);
  const call = artifact.plan.exports.get(GUEST_CALL);
  if (call === undefined) throw new Error("the component does not export 'call'");
  const limits = { memoryBytes: 64 * 2 ** 20, textBytes: 2 ** 20 };
  const context = { callId: "call", wallTimeMs: undefined };
  return {
    run: () => {
      const budget = new LiftBudget(limits);
      const instance = new ComponentInstance(artifact, () => ({}), budget);
      return readGuestResult(instance.call(call, guestArguments("echo", INPUT_TEXT, context)));
    },
    check: (result) => isInput(JSON.parse((result as { readonly text: string }).text)),
  };
}
