import { AGENTS } from './all-agents.ts';
import type { TelemetryRecord, TelemetrySignal } from './telemetry.ts';

/** The record of a signal, by the agent that exports such signals; undefined if none does. Never throws. */
export function readTelemetry(signal: TelemetrySignal): TelemetryRecord | undefined {
  for (const { id, telemetry } of AGENTS) {
    const record = telemetry?.read(signal);
    if (record !== undefined) return { agent: id, ...record };
  }
  return undefined;
}
