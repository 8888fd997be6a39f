import type { ReactNode } from 'react';
import type { Answer } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';

type Team = Answer<'/v1/teams'>['teams'][number];

const MAX_PEOPLE = 500;

/** The inputs of a team, with the values of an existing one. */
export const TeamFields = ({ team }: { team?: Team }): ReactNode => (
  <>
    <label>
      Name
      <input name="name" required maxLength={255} defaultValue={team?.name} placeholder="Core" />
    </label>
    <label>
      Cost centre (of all members without one)
      <input name="cost_centre" maxLength={255} defaultValue={team?.cost_centre ?? ''} placeholder="4711" />
    </label>
    <LeadField team={team} />
  </>
);

/** The people who may lead a team. */
function LeadField({ team }: { team?: Team | undefined }): ReactNode {
  const list = useAnswer('/v1/people', { limit: MAX_PEOPLE });
  const people = list.data?.people ?? [];
  const lead = team?.lead ?? null;
  const isListed = lead === null || people.some(({ id }) => id === lead.id);
  return (
    <label>
      Lead (with the role team lead, they see figures by person of this team)
      <select name="lead_id" defaultValue={lead?.id ?? ''} key={people.length}>
        <option value="">No one</option>
        {(isListed ? people : [...people, lead]).map(({ id, display_name: name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
