import { createSecretBox } from '@recount/ingest';
import type { ApiDependencies } from '../api-dependencies.ts';
import type { ProviderSettings } from '../provider-settings.ts';
import { createProviderClient } from './provider-client.ts';
import type { ProviderContext } from './provider-context.ts';
import { createSignInChecks, type SignInChecks } from './sign-in-checks.ts';
import { createSignInFlows, type SignInFlows } from './sign-in-flows.ts';

interface ProviderSignInOptions extends Pick<ProviderContext, 'checkIntervalMs' | 'maxUncheckedMs'> {
  settings: readonly ProviderSettings[];
  /** 32 bytes; encrypts tokens of providers, and the part of a flow that the browser keeps. */
  secretKey: Uint8Array | undefined;
}

/** Sign-in to the dashboard by OpenID Connect. */
export interface ProviderSignIns extends SignInFlows, SignInChecks {
  /** For the buttons of the sign-in page. */
  providers: readonly Pick<ProviderSettings, 'id' | 'name'>[];
}

type Deps = Pick<ApiDependencies, 'database' | 'log' | 'now' | 'requestProvider'>;

/** Throws RangeError if there are providers and no key for secrets. */
export function createProviderSignIns(
  { database: pool, log, now = Date.now, requestProvider = fetch }: Deps,
  { settings, secretKey, checkIntervalMs, maxUncheckedMs }: ProviderSignInOptions,
): ProviderSignIns {
  const open = (each: ProviderSettings) => createProviderClient(each, { fetch: requestProvider, now });
  const providers = new Map(settings.map((each) => [each.id, { settings: each, client: open(each) }]));
  const secretBox = settings.length === 0 ? undefined : createSecretBox(secretKey ?? new Uint8Array());
  const context = { pool, log, now, providers, secretBox, checkIntervalMs, maxUncheckedMs };
  return {
    providers: settings.map(({ id, name }) => ({ id, name })),
    ...createSignInFlows(context),
    ...createSignInChecks(context),
  };
}
