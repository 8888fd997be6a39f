import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject } from '../../records/fields.ts';

export interface TierState {
  /** The tier that requests ask for; null is the standard one. */
  serviceTier: string | null;
}

/** Facts in lines about the lines after them. */
export interface TurnContext extends TierState {
  model: string | null;
  version: string | null;
  gitBranch: string | null;
  /** Stored in the messages' metadata. */
  effort: string | null;
  approvalPolicy: string | null;
  sandbox: string | null;
  planType: string | null;
}

/** Other tiers of OpenAI; `fast` is Codex' name for `priority`. */
const OTHER_TIERS: ReadonlySet<string> = new Set(['priority', 'fast', 'flex', 'batch', 'scale', 'ultrafast']);
/** Names of the tier that has the list price. */
const STANDARD_TIERS: ReadonlySet<string> = new Set(['default', 'auto', 'standard']);

export function createTurnContext(): TurnContext {
  return {
    model: null,
    version: null,
    gitBranch: null,
    serviceTier: null,
    effort: null,
    approvalPolicy: null,
    sandbox: null,
    planType: null,
  };
}

/** Takes in a turn's settings; returns the approval policy if it changed. */
export function observeSettings(
  turn: TurnContext,
  settings: JsonObject,
  identifier: (value: JsonValue | undefined) => string | null,
): string | undefined {
  turn.model = identifier(settings.model) ?? turn.model;
  turn.effort = identifier(settings.reasoning_effort ?? settings.effort) ?? turn.effort;
  const sandbox = readObject(settings.sandbox_policy);
  turn.sandbox = identifier(sandbox?.type ?? sandbox?.mode ?? settings.sandbox_policy) ?? turn.sandbox;
  const approvalPolicy = identifier(settings.approval_policy);
  if (approvalPolicy === null || approvalPolicy === turn.approvalPolicy) return undefined;
  turn.approvalPolicy = approvalPolicy;
  return approvalPolicy;
}

/** Takes in the tier that an object states; one without the field says nothing. Returns true for a known tier. */
export function observeTier(
  turn: TierState,
  stated: JsonObject | undefined,
  identifier: (value: JsonValue | undefined) => string | null,
): boolean {
  if (stated?.service_tier === undefined) return true;
  const value = stated.service_tier;
  // Prices do not tell capitals apart either.
  const name = typeof value === 'string' || value === null ? identifier(value)?.trim().toLowerCase() : 'unknown';
  const tier = name ?? null;
  turn.serviceTier = tier !== null && STANDARD_TIERS.has(tier) ? null : tier;
  return turn.serviceTier === null || OTHER_TIERS.has(turn.serviceTier);
}
