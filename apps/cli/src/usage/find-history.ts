import { homedir } from 'node:os';
import { findSessions } from '@recount/collect/find-sessions';
import type { SessionPlace } from '@recount/core';
import { AGENTS } from '@recount/core/agents';
import type { FoundFile, StoredFile } from '@recount/usage';
import type { CliContext } from '../terminal/cli-context.ts';
import { type Found, toDeniedFile, toLinkFile } from './found.ts';

/**
 * The transcripts below the paths, or those that the agents of this machine keep, and the sessions in agents'
 * databases. Throws UsageError for a path that does not exist.
 */
export async function findHistory(context: CliContext, paths: readonly string[]): Promise<(FoundFile | StoredFile)[]> {
  const found = await (paths.length > 0 ? findBelow(context, paths) : findOnMachine(context));
  const links = found.links.map(toLinkFile);
  if (found.databases.length === 0) return [...found.transcripts, ...links];
  const { addStored } = await import('./add-stored.ts');
  return [...(await addStored(found)), ...links];
}

/** Loads modules that most calls do not need. */
async function findBelow(context: CliContext, paths: readonly string[]): Promise<Found> {
  const { findBelow } = await import('./find-below.ts');
  return await findBelow(context, paths);
}

function findOnMachine({ environment }: CliContext): Found {
  const machine = { platform: process.platform, environment, homeFolder: environment.HOME || homedir() };
  const agents = AGENTS.map(({ places = [], ...agent }) => ({ ...agent, places: places.filter(mayHoldUsage) }));
  const found = findSessions(machine, agents);
  const listOf = (kind: string) => found.filter(({ place }) => place.holds === kind).flatMap(({ files }) => files);
  const transcripts = listOf('transcripts').map((file) => ({ ...file, isInPlace: true }));
  const denied = found.filter(({ place }) => place.holds !== 'aside').flatMap((place) => place.denied);
  return {
    transcripts: [...transcripts, ...denied.map(toDeniedFile)],
    databases: [...listOf('database'), ...listOf('folder')],
    links: found.filter(({ place }) => place.holds !== 'aside').flatMap((place) => place.links),
  };
}

/** Files that are `aside` hold none and are not transcripts, even if they match the pattern of one. */
const mayHoldUsage = ({ holds }: SessionPlace): boolean => holds !== 'attachments' && holds !== 'prompts';
