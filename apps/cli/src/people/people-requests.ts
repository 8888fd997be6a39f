import type { Person, PersonList, Team, TeamList } from '@recount/contract';
import type { ApiClient } from '../connection/api-client.ts';
import { listPages } from '../connection/list-pages.ts';
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
  const pages = listPages((cursor) =>
    ask<PersonList>(client, '/v1/people', { query: { ...query, cursor, limit: PAGE_ROWS } }),
  );
  for await (const page of pages) people.push(...page.people);
  return people;
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
  const pages = listPages((cursor) => ask<TeamList>(client, '/v1/teams', { query: { cursor, limit: PAGE_ROWS } }));
  for await (const page of pages) teams.push(...page.teams);
  return teams;
}

/** The value of an option that has a `--no-` form. */
export const toOptional = (value: string | false): string | null => (value === false ? null : value);
