import { createHash } from 'node:crypto';
import type { DeliveryTarget } from '@recount/collect';
import { isDemoWorkspace } from '@recount/db';
import { createDirectTarget } from '@recount/ingest';
import { createApiClient } from '../connection/api-client.ts';
import { type ApiOptions, findApi, NO_API_MESSAGE } from '../connection/find-api.ts';
import { createHttpTarget, type UploadOrigin } from '../connection/http-target.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';

export interface TargetOptions extends ApiOptions, UploadOrigin {
  direct?: boolean;
  workspace?: string;
}

interface ChosenTarget {
  target: DeliveryTarget;
  /** The same for the same workspace of the same installation; contains no key. */
  id: string;
  close(): Promise<void>;
}

const NO_TARGET_MESSAGE = `${NO_API_MESSAGE} Or set DATABASE_URL and RECOUNT_RAW_STORE, and give --direct.`;

/**
 * The store of a backfill's transcripts. With `--direct` it is raw store and database directly, else it is the API that
 * `findApi` finds. Throws UsageError, ConfigError or CliError if there is neither.
 */
export async function chooseTarget(context: CliContext, options: TargetOptions): Promise<ChosenTarget> {
  if (options.direct) return await openDirectTarget(context, options);
  if (options.workspace !== undefined) {
    throw new UsageError('--workspace goes with --direct, because an API key belongs to a workspace.');
  }
  const place = await findApi(context, options);
  if (place === undefined) throw new CliError(NO_TARGET_MESSAGE);
  const client = createApiClient(place);
  const origin = { machine: options.machine, person: options.person };
  return {
    target: createHttpTarget(client, origin),
    id: toTargetId(place.url, place.key),
    close: async () => {},
  };
}

async function openDirectTarget(context: CliContext, options: TargetOptions): Promise<ChosenTarget> {
  if (options.server !== undefined) throw new UsageError('--direct and --server exclude each other.');
  const { DEFAULT_WORKSPACE, findInstallationConfig, findWorkspace, openInstallation } = await import(
    '../connection/open-installation.ts'
  );
  const installation = await openInstallation(await findInstallationConfig(context));
  try {
    const workspaceId = await findWorkspace(installation.database, options.workspace ?? DEFAULT_WORKSPACE);
    if (await isDemoWorkspace(installation.database.database, workspaceId))
      throw new CliError('The demo accepts nothing, because it is deleted after a day. Name another workspace.');
    const target = createDirectTarget(installation, { ...options, workspaceId });
    return { target, id: toTargetId('direct', workspaceId), close: installation.close };
  } catch (error) {
    await installation.close();
    throw error;
  }
}

/** A key belongs to one workspace; a new key counts as another workspace. */
function toTargetId(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);
}
