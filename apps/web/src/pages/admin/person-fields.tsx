import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import type { Answer, Body } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';

type Person = Answer<'/v1/people'>['people'][number];
type Change = Body<'/v1/people/{person_id}', 'patch'>;

const MAX_TEAMS = 500;

/** Inputs for a person, with the values of an existing one. */
export function PersonFields({ person }: { person?: Person }): ReactNode {
  const [current] = person?.memberships ?? [];
  const others = person?.names.filter((name) => name !== person.display_name && name !== person.email);
  return (
    <>
      <label>
        Name in reports
        <input
          name="display_name"
          required
          maxLength={255}
          defaultValue={person?.display_name}
          placeholder="Maya Chen"
        />
      </label>
      <label>
        E-mail
        <input
          name="email"
          type="email"
          maxLength={255}
          defaultValue={person?.email ?? ''}
          placeholder="maya@example.org"
        />
      </label>
      <label>
        Further names of their sessions (one per line)
        <textarea name="names" rows={3} defaultValue={others?.join('\n')} placeholder="mchen" />
      </label>
      <TeamField team={current?.team ?? ''} />
      <label>
        Cost centre (empty: the team’s)
        <input name="cost_centre" maxLength={255} defaultValue={current?.cost_centre ?? ''} />
      </label>
      <label>
        First day of a changed team or cost centre, in UTC (empty: today, or always if it is the first team)
        <input name="team_from" type="date" />
      </label>
      <label>
        Joined
        <input name="joined_on" type="date" defaultValue={person?.joined_on ?? ''} />
      </label>
      <label>
        Left
        <input name="left_on" type="date" defaultValue={person?.left_on ?? ''} />
      </label>
      <label>
        Notes
        <textarea name="notes" rows={2} maxLength={4000} defaultValue={person?.notes ?? ''} />
      </label>
    </>
  );
}

function TeamField({ team }: { team: string }): ReactNode {
  const teams = useAnswer('/v1/teams', { limit: MAX_TEAMS });
  return (
    <label>
      Team
      <select name="team" key={teams.data?.teams.length} defaultValue={team}>
        <option value="">No team</option>
        {teams.data?.teams.map(({ id, name }) => (
          <option key={id} value={name}>
            {toVisible(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The values of a form with these inputs; team and cost centre only if they differ from the person's. */
export function toPersonChange(form: HTMLFormElement, person?: Person): Change {
  const data = new FormData(form);
  const read = (name: string): string | null => String(data.get(name) ?? '').trim() || null;
  const names = (read('names') ?? '').split('\n').map((name) => name.trim());
  const [current] = person?.memberships ?? [];
  const [team, costCentre, from] = [read('team'), read('cost_centre'), read('team_from')];
  return {
    display_name: read('display_name') ?? '',
    email: read('email'),
    names: names.filter((name) => name !== ''),
    ...(team !== (current?.team ?? null) && { team }),
    ...(costCentre !== (current?.cost_centre ?? null) && { cost_centre: costCentre }),
    ...(from !== null && { team_from: from, team, cost_centre: costCentre }),
    joined_on: read('joined_on'),
    left_on: read('left_on'),
    notes: read('notes'),
  };
}
