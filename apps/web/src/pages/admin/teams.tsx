import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type Answer, type Body, send } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count } from '../../ui/figures.tsx';
import { Form } from '../../ui/form.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { CreateForm } from './admin-forms.tsx';
import { refreshPeople } from './refresh-people.ts';
import { WideTable } from './wide-table.tsx';

type Team = Answer<'/v1/teams'>['teams'][number];

/** Loaded when a team is added or edited, with the people who may lead it. */
const TeamFields = lazy(async () => ({ default: (await import('./team-fields.tsx')).TeamFields }));
const MAX_TEAMS = 500;

/** Teams with their cost centres. */
export function Teams(): ReactNode {
  const list = useAnswer('/v1/teams', { limit: MAX_TEAMS });
  const [edited, setEdited] = useState<Team>();
  const make = useMutation({
    mutationFn: (body: Body<'/v1/teams', 'post'>) => send('post', '/v1/teams', { body }),
    onSuccess: refreshPeople,
  });
  return (
    <section aria-labelledby="teams">
      <h2 id="teams">Teams</h2>
      <CreateForm label="Add team" of={make} toRequest={toTeam}>
        <Suspense>
          <TeamFields />
        </Suspense>
      </CreateForm>
      <Answered of={list}>
        {({ teams }) =>
          teams.length === 0 ? (
            <Empty title="No teams yet" />
          ) : (
            <WideTable
              label="Teams"
              rows={teams}
              toKey={({ id }) => id}
              columns={[
                {
                  head: 'Team',
                  cell: ({ name }) => (
                    <Link to="/team" search={{ team: name, period: 'all' } as never}>
                      {name}
                    </Link>
                  ),
                },
                { head: 'Cost centre', cell: ({ cost_centre }) => cost_centre },
                { head: 'Lead', cell: ({ lead }) => lead?.display_name },
                { head: 'People', isFigure: true, cell: ({ members }) => <Count value={members} /> },
                {
                  head: 'Change',
                  cell: (team) => (
                    <button type="button" onClick={() => setEdited(team)}>
                      Edit<span className="hidden-label"> {team.name}</span>
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Answered>
      {edited !== undefined && <EditTeam team={edited} close={() => setEdited(undefined)} />}
    </section>
  );
}

function toTeam(form: HTMLFormElement): Body<'/v1/teams', 'post'> {
  const data = new FormData(form);
  const toText = (field: string): string => String(data.get(field)).trim();
  return { name: toText('name'), cost_centre: toText('cost_centre') || null, lead_id: toText('lead_id') || null };
}

function EditTeam({ team, close }: { team: Team; close: () => void }): ReactNode {
  const parameters = { team_id: team.id };
  const done = async (): Promise<void> => {
    close();
    await refreshPeople();
  };
  const save = useMutation({
    mutationFn: (body: Body<'/v1/teams/{team_id}', 'patch'>) =>
      send('patch', '/v1/teams/{team_id}', { parameters, body }),
    onSuccess: done,
  });
  const remove = useMutation({
    mutationFn: () => send('delete', '/v1/teams/{team_id}', { parameters }),
    onSuccess: done,
  });
  const error = save.error ?? remove.error;
  return (
    <Modal title={`Edit ${team.name}`} close={close}>
      <Form className="admin-form" submit={(form) => save.mutate(toTeam(form))}>
        <p>Name and cost centre change in reports of all times. To keep history, add a team and move people to it.</p>
        <Suspense>
          <TeamFields team={team} />
        </Suspense>
        <span className="row">
          <button type="submit" className="primary" disabled={save.isPending}>
            Save
          </button>
          <button type="button" className="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
            Delete team
          </button>
        </span>
        {error !== null && <Failure error={error} />}
      </Form>
    </Modal>
  );
}
