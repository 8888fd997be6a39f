import type { Agent, SessionPlace } from '@recount/core';
import { AGENTS } from '@recount/core/agents';
import { type FoundPlace, findPlaces, type Machine } from './find-places.ts';

/** Sessions of one agent in one of its places. */
export interface FoundSessions extends Omit<FoundPlace, 'index'> {
  agent: Agent;
  place: SessionPlace;
  sizeBytes: number;
}

/**
 * The places of agents that hold sessions on this machine, in the order of the agents. A file that matches several
 * patterns or bases is found once. Opens no files.
 */
export function findSessions(machine: Machine, agents: readonly Agent[] = AGENTS): FoundSessions[] {
  const all = agents.flatMap((agent) => (agent.places ?? []).map((place) => ({ agent, place })));
  const places = all.map(({ place }) => place);
  return findPlaces(machine, places).flatMap(({ index, ...found }) => {
    const sizeBytes = found.files.reduce((sum, file) => sum + file.sizeBytes, 0);
    const known = all[index];
    return known === undefined ? [] : [{ ...known, ...found, sizeBytes }];
  });
}
