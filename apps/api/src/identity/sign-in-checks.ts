import { setTimeout as sleep } from 'node:timers/promises';
import { claimSignInCheck, endSignIn, type SignInHolder, storeSignInCheck } from '@recount/db';
import { toLogReason } from '../problems/problem-error.ts';
import { decideAdmission } from './decide-admission.ts';
import { type ConfirmedAccount, ProviderError, type ProviderTokens } from './provider-client.ts';
import { admit, type Provider, type ProviderContext, toUnavailable } from './provider-context.ts';
import { openTokens, sealTokens } from './sealed-tokens.ts';

/** After this time another process may check, because the one that began has probably died. */
const CHECK_MAX_MS = 30_000;
/** As long as the provider may take to answer someone else. */
const CLAIM_MAX_MS = 5000;
const CLAIM_POLL_MS = 100;
/** A provider that does not answer is not asked again before. */
const OUTAGE_PAUSE_MS = 5000;

/** Checks of signed-in browsers with their providers. */
export interface SignInChecks {
  /** True if a sign-in is to be checked before it is used. */
  isDue(holder: SignInHolder): boolean;
  /**
   * Checks a sign-in with its provider. It has ended afterwards, or its key has the present role, and the holder is to be
   * read again. Throws ProblemError if the provider cannot be asked.
   */
  check(holder: SignInHolder): Promise<void>;
  /** Throws ProblemError if the holder, read again after a check by another process, is still unchecked. */
  requireChecked(holder: SignInHolder): void;
}

export function createSignInChecks(context: ProviderContext): SignInChecks {
  const { providers, checkIntervalMs } = context;
  const running = new Map<string, Promise<void>>();
  const pausedUntilMs = new Map<string, number>();
  return {
    isDue: ({ provider }) =>
      provider !== null &&
      (!providers.has(provider.id) || (provider.uncheckedMs !== null && provider.uncheckedMs >= checkIntervalMs)),
    async check(holder) {
      const { signInId } = holder;
      const started =
        running.get(signInId) ?? check(context, pausedUntilMs, holder).finally(() => running.delete(signInId));
      running.set(signInId, started);
      await started;
    },
    requireChecked({ provider }) {
      if ((provider?.uncheckedMs ?? 0) < checkIntervalMs + CHECK_MAX_MS) return;
      throw toUnavailable(providers.get(provider?.id ?? ''));
    },
  };
}

async function check(
  context: ProviderContext,
  pausedUntilMs: Map<string, number>,
  holder: SignInHolder,
): Promise<void> {
  const { pool, now, providers, secretBox } = context;
  const { workspaceId, signInId } = holder;
  const { id = '', sealedTokens } = holder.provider ?? {};
  const provider = providers.get(id);
  if (provider === undefined || secretBox === undefined) return await end(context, holder, 'provider-removed');
  const tokens = openTokens(secretBox, { workspaceId, signInId, sealed: sealedTokens ?? '' });
  if (tokens === undefined) return await end(context, holder, 'tokens-unreadable');
  if (now() < (pausedUntilMs.get(id) ?? 0)) throw toUnavailable(provider);
  const claim = () => pool.withTransaction((transaction) => claimSignInCheck(transaction, holder, CHECK_MAX_MS));
  const startedAtMs = performance.now();
  let claimed = await claim();
  // A browser that was idle for long would be refused otherwise, because another one of its account is being checked.
  while (claimed === 'busy' && performance.now() - startedAtMs < CLAIM_MAX_MS) {
    await sleep(CLAIM_POLL_MS);
    claimed = await claim();
  }
  if (claimed !== 'claimed') return;
  const asked = await ask(context, provider, holder, tokens);
  if (asked === undefined) return;
  if (asked instanceof ProviderError) {
    pausedUntilMs.set(id, now() + OUTAGE_PAUSE_MS);
    throw toUnavailable(provider, asked);
  }
  const admission = decideAdmission(provider.settings, asked.claims);
  if ('reason' in admission) return await end(context, holder, admission.reason);
  const sealed = sealTokens(secretBox, workspaceId, signInId, asked.tokens);
  await pool.withTransaction(async (transaction) => {
    await admit(transaction, workspaceId, asked, admission);
    await storeSignInCheck(transaction, holder, sealed);
  });
}

/** The account as its provider sees it; undefined if it refused, so that the sign-in has ended; or the reason of an outage. */
async function ask(
  context: ProviderContext,
  { settings, client }: Provider,
  holder: SignInHolder,
  tokens: ProviderTokens,
): Promise<ConfirmedAccount | ProviderError | undefined> {
  try {
    return await client.refresh(tokens);
  } catch (error) {
    if (error instanceof ProviderError && error.kind === 'refused') {
      await end(context, holder, `refused: ${error.message}`);
      return undefined;
    }
    await storeSignInCheck(context.pool.database, holder, undefined);
    context.log.warn({ provider: settings.id, reason: toLogReason(error) }, 'provider not reached');
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

async function end(
  { pool, log }: ProviderContext,
  { workspaceId, signInId, provider }: SignInHolder,
  reason: string,
): Promise<void> {
  const details = { provider: provider?.id ?? '', reason };
  log.info({ ...details, signInId }, 'sign-in ended by its provider');
  await pool.withTransaction((transaction) => endSignIn(transaction, workspaceId, signInId, 'system', details));
}
