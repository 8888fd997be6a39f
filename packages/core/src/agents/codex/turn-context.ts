import { readObject } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';

/** What lines say about the lines after them. */
export interface TurnContext {
  model: string | null;
  version: string | null;
  gitBranch: string | null;
  serviceTier: string | null;
  /** Stored in the messages' metadata. */
  effort: string | null;
  approvalPolicy: string | null;
  sandbox: string | null;
  planType: string | null;
}

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
  const tier = identifier(settings.service_tier);
  if (tier !== null) turn.serviceTier = tier === 'default' || tier === 'auto' ? null : tier;
  const sandbox = readObject(settings.sandbox_policy);
  turn.sandbox = identifier(sandbox?.type ?? sandbox?.mode ?? settings.sandbox_policy) ?? turn.sandbox;
  const approvalPolicy = identifier(settings.approval_policy);
  if (approvalPolicy === null || approvalPolicy === turn.approvalPolicy) return undefined;
  turn.approvalPolicy = approvalPolicy;
  return approvalPolicy;
}
