import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDirectTarget } from '@recount/ingest';
import { backfillWithProgress } from '../backfill/backfill-with-progress.ts';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import { type CliContext, note, PROJECT_DIRECTORY } from '../terminal/cli-context.ts';
import type { LocalInstallation } from './start-installation.ts';

const SAMPLES_DIRECTORY = join(PROJECT_DIRECTORY, 'samples', 'claude-projects');

/** Ingests the sample transcripts, once for each data directory, so that deleted sessions do not come back. */
export async function loadSamples(
  context: CliContext,
  { samplesMark }: DataDirectory,
  { connections, workspaceId }: LocalInstallation,
  signal: AbortSignal,
): Promise<void> {
  if (existsSync(samplesMark)) return;
  note(context, 'Ingesting the sample transcripts …');
  const target = createDirectTarget(connections, { workspaceId });
  const paths = [SAMPLES_DIRECTORY];
  const { report } = await backfillWithProgress(context, { paths, target, signal, showsProgress: false });
  for (const { location, reason } of report.failures) note(context, `${location}: ${reason}`);
  if (!report.isInterrupted && report.failed === 0) await writeFile(samplesMark, '', { mode: 0o600 });
}
