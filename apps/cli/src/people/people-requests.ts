import type { Person, PersonList, Team, TeamList } from '@recount/contract';
import type { ApiClient } from '../connection/api-client.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';

/** Rows of a request. */
export const PAGE_ROWS = 500;

/** The answer to a request. Throws CliError if the server does not know what it is about. */
export async function ask<Answer>(client: ApiClient, ...request: Parameters<ApiClient['request']>): Promise<Answer> {
  const answer = await client.request<Answer>(...request);
  if (answer === undefined)
    throw new CliError(`${client.place.url} has no such person or team. Is it an older version?`);
  return answer;
}

/** All people, page by page. */
export async function readPeople(client: ApiClient, query: Record<string, string | undefined>): Promise<Person[]> {
  const people: Person[] = [];
  for (let cursor: string | undefined; ; ) {
    const page: PersonList = await ask(client, '/v1/people', { query: { ...query, cursor, limit: PAGE_ROWS } });
    people.push(...page.people);
    if (page.next_cursor === null) return people;
    cursor = page.next_cursor;
  }
}

/** The person with an id, or with a name, ignoring case. Throws UsageError. */
export async function findPerson(client: ApiClient, name: string): Promise<Person> {
  const wanted = name.toLowerCase();
  const hasName = ({ names }: { names: readonly string[] }): boolean =>
    names.some((each) => each.toLowerCase() === wanted);
  const people = await readPeople(client, {});
  const found = people.find((each) => each.id === name || hasName(each) || each.merged.some(hasName));
  if (found !== undefined) return found;
  throw new UsageError(`No person has the name ${name}. \`recount people list --search\` finds a part of a name.`);
}

/** All teams, page by page. */
export async function readTeams(client: ApiClient): Promise<Team[]> {
  const teams: Team[] = [];
  for (let cursor: string | undefined; ; ) {
    const page: TeamList = await ask(client, '/v1/teams', { query: { cursor, limit: PAGE_ROWS } });
    teams.push(...page.teams);
    if (page.next_cursor === null) return teams;
    cursor = page.next_cursor;
  }
}

/** The value of an option that has a `--no-` form. */
export const toOptional = (value: string | false): string | null => (value === false ? null : value);
