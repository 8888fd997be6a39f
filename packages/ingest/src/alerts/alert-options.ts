import { ConfigError } from '@recount/service/config';
import { type AddressRules, toBlockList } from './check-address.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';
import type { MailServer } from './send-email.ts';

export interface AlertOptions extends AddressRules {
  /** Undefined if the environment has no key. */
  secretBox: SecretBox | undefined;
  /** Undefined if the environment names none. */
  mailServer: MailServer | undefined;
  /** The longest that one attempt takes. Default 15 s. */
  timeoutMs?: number;
}

/** The content of a destination's secret. */
export interface DestinationSecret {
  url: string;
  /** The secret of a generic webhook: `whsec_` and base64. */
  signing_secret?: string;
}

/** The place that the secret of a destination is encrypted for. */
export const toSecretPlace = (workspaceId: string, destinationId: string): string => `${workspaceId}/${destinationId}`;

/** Throws ConfigError for a text that is no network. */
export function createAlertOptions({
  secretKey,
  mailServer,
  privateNetworks,
}: {
  /** 32 bytes. */
  secretKey: Uint8Array | undefined;
  mailServer: MailServer | undefined;
  /** Such as `10.0.0.0/8`. */
  privateNetworks: readonly string[];
}): AlertOptions {
  try {
    const secretBox = secretKey && createSecretBox(secretKey);
    return { secretBox, mailServer, allowed: toBlockList(privateNetworks) };
  } catch (error) {
    throw error instanceof RangeError ? new ConfigError(`RECOUNT_ALERT_PRIVATE_NETWORKS: ${error.message}`) : error;
  }
}
