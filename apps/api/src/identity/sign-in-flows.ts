import { randomBytes } from 'node:crypto';
import { toReturnPath } from '@recount/contract/return-path';
import {
  addAuditEntry,
  createSignIn,
  type Database,
  type EndedSignIn,
  findWorkspaceByName,
  SIGN_IN_MAX_AGE_S,
  type SignInSecrets,
} from '@recount/db';
import type { SecretBox } from '@recount/ingest';
import { z } from 'zod';
import { ProblemError, toLogReason } from '../problems/problem-error.ts';
import { decideAdmission } from './decide-admission.ts';
import { type ConfirmedAccount, ProviderError } from './provider-client.ts';
import { admit, type Provider, type ProviderContext, toUnavailable } from './provider-context.ts';
import { openSealed, openTokens, sealTokens } from './sealed-tokens.ts';

/** From the sign-in page to the provider and back. */
const FLOW_MAX_AGE_MS = 10 * 60_000;
const FLOW_PLACE = 'sign-in-flow';
const SECRET_BYTES = 32;

const flowSchema = z.object({
  provider: z.string(),
  redirectUri: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  endMs: z.number(),
});
type Flow = z.output<typeof flowSchema>;

/** A browser that has signed in. */
interface SignedIn {
  secrets: SignInSecrets;
  /** Path of the dashboard to return to. */
  next: string;
  /** The life of the cookie, seconds. */
  maxAgeS: number;
}

/** Ways of a browser to a provider and back. */
export interface SignInFlows {
  /**
   * Begins a sign-in at a provider. `flow` is kept by the page that began it, and by no other, so that it can only be
   * finished there. Throws ProblemError.
   *
   * @param origin of the dashboard
   * @param next path to return to
   */
  begin(id: string, origin: string, next: string | undefined): Promise<{ url: string; flow: string }>;
  /** Finishes it with the path and the query that the provider opened. Throws ProblemError. */
  finish(request: { flow: string; response: string; browser: string | null }): Promise<SignedIn>;
  /** Signs an account out at its provider. Returns the page for the browser to open there; undefined if it has none. */
  end(ended: EndedSignIn, origin: string): Promise<string | undefined>;
}

export function createSignInFlows(context: ProviderContext): SignInFlows {
  const { log, now, providers, secretBox } = context;
  const find = (id: string): Provider & { box: SecretBox } => {
    const provider = providers.get(id);
    if (provider === undefined || secretBox === undefined)
      throw new ProblemError('not-found', 'There is no such provider. Reload the page');
    return { ...provider, box: secretBox };
  };
  return {
    async begin(id, origin, next) {
      const provider = find(id);
      const draw = (): string => randomBytes(SECRET_BYTES).toString('base64url');
      const redirectUri = toAnswerPage(origin, id);
      const secrets = { state: draw(), nonce: draw(), verifier: draw() };
      const endMs = now() + FLOW_MAX_AGE_MS;
      const flow: Flow = { provider: id, redirectUri, ...secrets, next: toReturnPath(next), endMs };
      try {
        const url = await provider.client.toAuthorizationUrl(redirectUri, secrets);
        return { url, flow: provider.box.seal(FLOW_PLACE, flow) };
      } catch (error) {
        log.warn({ provider: id, reason: toLogReason(error) }, 'provider not reached');
        throw toUnavailable(provider, error);
      }
    },
    async finish({ flow: sealed, response, browser }) {
      const flow = flowSchema.safeParse(secretBox && openSealed(secretBox, FLOW_PLACE, sealed)).data;
      if (flow === undefined) throw new ProblemError('sign-in-failed', NOT_STARTED_HERE);
      if (now() > flow.endMs)
        throw new ProblemError('sign-in-failed', 'The sign-in took longer than ten minutes. Sign in again');
      const answer = URL.parse(response, flow.redirectUri);
      if (answer === null || answer.origin + answer.pathname !== flow.redirectUri)
        throw new ProblemError(
          'sign-in-failed',
          'Another provider answered than the one that was asked. Sign in again',
        );
      const provider = find(flow.provider);
      const account = await redeem(context, provider, flow, answer.search);
      return { ...(await sign(context, provider, account, browser)), next: flow.next };
    },
    async end({ workspaceId, signInId, provider: id, sealedTokens: sealed }, origin) {
      const tokens = secretBox && openTokens(secretBox, { workspaceId, signInId, sealed });
      if (tokens === undefined) return undefined;
      try {
        return await providers.get(id)?.client.end(tokens, toSignInPage(origin));
      } catch (error) {
        // The browser is signed out here in any case.
        log.warn({ provider: id, reason: toLogReason(error) }, 'not signed out at the provider');
        return undefined;
      }
    },
  };
}

async function redeem(
  { log }: ProviderContext,
  provider: Provider,
  flow: Flow,
  response: string,
): Promise<ConfirmedAccount> {
  try {
    return await provider.client.redeem(flow.redirectUri, response, flow);
  } catch (error) {
    const { name, id } = provider.settings;
    log.warn({ provider: id, reason: toLogReason(error) }, 'sign-in failed');
    if (!(error instanceof ProviderError) || error.kind === 'unavailable') throw toUnavailable(provider, error);
    const detail = `${name} did not confirm the sign-in (${error.message}). Sign in again; if that fails too, tell the operator of this server`;
    throw new ProblemError('sign-in-failed', detail, { cause: error });
  }
}

/** Signs a browser in with an account that the provider confirmed. Throws ProblemError if the account may not. */
async function sign(
  { pool, maxUncheckedMs }: ProviderContext,
  { settings, box }: Provider & { box: SecretBox },
  account: ConfirmedAccount,
  browser: string | null,
): Promise<Omit<SignedIn, 'next'>> {
  const workspaceId = (await findWorkspaceByName(pool.database, settings.workspace))?.id;
  if (workspaceId === undefined) {
    const detail = `The settings of ${settings.name} name a workspace that does not exist. Tell the operator of this server`;
    throw new ProblemError('sign-in-refused', detail);
  }
  const isCheckable = account.tokens.refreshToken !== undefined;
  const maxAgeS = isCheckable ? SIGN_IN_MAX_AGE_S : Math.ceil(maxUncheckedMs / 1000);
  const admission = decideAdmission(settings, account.claims);
  const signed = await pool.withTransaction(async (transaction) => {
    if ('reason' in admission) return await noteRefusal(transaction, workspaceId, settings.id, account, admission);
    const key = await admit(transaction, workspaceId, account, admission);
    if (key === undefined) return await noteRefusal(transaction, workspaceId, settings.id, account, REVOKED);
    return await createSignIn(transaction, {
      ...{ workspaceId, ...key, browser },
      provider: {
        ...{ id: settings.id, isCheckable, maxAgeS, role: admission.role },
        seal: (signInId) => sealTokens(box, workspaceId, signInId, account.tokens),
      },
    });
  });
  if ('sentence' in signed) throw new ProblemError('sign-in-refused', signed.sentence);
  return { secrets: signed, maxAgeS };
}

async function noteRefusal<Refused extends { reason: string }>(
  transaction: Database,
  workspaceId: string,
  provider: string,
  { issuer, subject }: ConfirmedAccount,
  refusal: Refused,
): Promise<Refused> {
  const details = { provider, reason: refusal.reason, issuer, subject };
  const entry = { workspaceId, actor: 'system', action: 'sign-in.refuse', subjects: [], details } as const;
  await addAuditEntry(transaction, entry);
  return refusal;
}

const NOT_STARTED_HERE = 'The sign-in was not started in this browser, or was finished already. Sign in again';
const REVOKED = {
  reason: 'key-revoked',
  sentence: 'An admin of recount revoked your access. Ask an admin to allow it again',
};

/** The page that starts a sign-in, and that a provider returns to after it signed someone out. */
const toSignInPage = (origin: string): string => `${origin}/sign-in`;

/**
 * The page that a provider returns to with its answer. Each has a separate one, because a provider may send a browser on
 * to another: without it, the code of the other would be sent to the first.
 */
const toAnswerPage = (origin: string, id: string): string => `${toSignInPage(origin)}/${id}`;
