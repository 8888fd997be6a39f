import type { Destination } from '@recount/contract';
import { DESTINATION_KINDS } from '@recount/contract/choices';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { CreateForm, DeleteDialog, Options } from './admin-forms.tsx';
import { Deliveries, refreshDeliveries } from './deliveries.tsx';
import { WideTable } from './wide-table.tsx';

type Kind = Destination['kind'];
type Request = Body<'/v1/destinations', 'post'>;

const KINDS: Readonly<Record<Kind, string>> = {
  slack: 'Slack, or another chat with incoming webhooks',
  webhook: 'Webhook with a signature',
  email: 'E-mail',
};

const refresh = (): void => {
  void queryClient.invalidateQueries({ queryKey: ['/v1/destinations'] });
  refreshDeliveries();
};

/** Destinations of warnings, and the messages to them. */
export function Alerts(): ReactNode {
  const destinations = useAnswer('/v1/destinations', {});
  const [secret, setSecret] = useState<string>();
  return (
    <section aria-labelledby="alerts">
      <h2 id="alerts">Alerts</h2>
      <p>
        Budgets send their warnings, and digests their reports, to all of these destinations or to those that they name.
      </p>
      <NewDestination show={setSecret} />
      <Answered of={destinations}>
        {({ destinations: all }) =>
          all.length === 0 ? (
            <Empty title="No destinations" />
          ) : (
            <>
              <DestinationTable destinations={all} />
              <Deliveries />
            </>
          )
        }
      </Answered>
      {secret !== undefined && (
        <Modal title="The signing secret is shown only once" close={() => setSecret(undefined)}>
          <p>Receivers check with it that a message is from this server: the header webhook-signature.</p>
          <ShownOnce text={secret} close={() => setSecret(undefined)} />
        </Modal>
      )}
    </section>
  );
}

function NewDestination({ show }: { show: (secret: string) => void }): ReactNode {
  const [kind, setKind] = useState<Kind>('slack');
  const make = useMutation({
    mutationFn: (body: Request) => send('post', '/v1/destinations', { body }),
    onSuccess: ({ signing_secret: secret }) => {
      refresh();
      if (secret !== null) show(secret);
    },
  });
  const toRequest = (form: HTMLFormElement): Request => {
    const data = new FormData(form);
    const name = String(data.get('name')).trim();
    const to = String(data.get('to')).trim();
    return kind === 'email' ? { kind, name, addresses: to.split(/[\s,;]+/) } : { kind, name, url: to };
  };
  return (
    <CreateForm label="Add destination" of={make} toRequest={toRequest}>
      <label>
        Name
        <input name="name" required maxLength={100} placeholder="team channel" />
      </label>
      <label>
        Kind
        <select value={kind} onChange={({ target }) => setKind(target.value as Kind)}>
          <Options of={DESTINATION_KINDS.map((each) => [each, KINDS[each]])} />
        </select>
      </label>
      {kind === 'email' ? (
        <label>
          Addresses
          <input name="to" required placeholder="ada@example.org, bob@example.org" />
        </label>
      ) : (
        <label>
          URL
          <input name="to" type="url" required autoComplete="off" placeholder="https://…" />
        </label>
      )}
    </CreateForm>
  );
}

function DestinationTable({ destinations }: { destinations: readonly Destination[] }): ReactNode {
  const [asked, setAsked] = useState<Destination>();
  const test = useMutation({
    mutationFn: (id: string) =>
      send('post', '/v1/destinations/{destination_id}/test', { parameters: { destination_id: id } }),
    onSuccess: refresh,
  });
  return (
    <>
      <WideTable
        label="Destinations"
        rows={destinations}
        toKey={({ id }) => id}
        columns={[
          { head: 'Name', cell: ({ name }) => name },
          { head: 'Kind', cell: ({ kind }) => kind },
          { head: 'To', cell: ({ hint }) => hint },
          { head: 'Created', cell: ({ created_at }) => <Time iso={created_at} /> },
          {
            head: 'Actions',
            cell: (each) => (
              <div className="row">
                <button type="button" disabled={test.isPending} onClick={() => test.mutate(each.id)}>
                  Send test<span className="hidden-label"> to {each.name}</span>
                </button>
                <button type="button" className="danger" onClick={() => setAsked(each)}>
                  Delete<span className="hidden-label"> {each.name}</span>
                </button>
              </div>
            ),
          },
        ]}
      />
      {test.error !== null && <Failure error={test.error} />}
      {asked !== undefined && (
        <DeleteDialog name={asked.name} remove={() => remove(asked)} close={() => setAsked(undefined)}>
          Its messages are deleted with it, also those that wait. Budgets and digests keep their other destinations.
        </DeleteDialog>
      )}
    </>
  );
}

async function remove({ id }: Destination): Promise<void> {
  await send('delete', '/v1/destinations/{destination_id}', { parameters: { destination_id: id } });
  refresh();
}
