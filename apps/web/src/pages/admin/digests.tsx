import type { Digest } from '@recount/contract';
import { DIGEST_PERIODS } from '@recount/contract/choices';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { TIME_ZONE } from '../../format/values.ts';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { toCounted } from '../../ui/budget-use.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { CreateForm, DeleteDialog, Options } from './admin-forms.tsx';
import { CountedFields, readCounted } from './counted-fields.tsx';
import { Deliveries, refreshDeliveries } from './deliveries.tsx';
import { DestinationFields, DestinationNames, readDestinations } from './destination-fields.tsx';

type Request = Body<'/v1/digests', 'post'>;
type Asked = { what: 'preview' | 'change' | 'delete'; digest: Digest };

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['/v1/digests'] });

/** Reports that are sent when a week or month is over: to whom, of what, what was sent, and what failed. */
export function Digests(): ReactNode {
  const digests = useAnswer('/v1/digests', {});
  const [asked, setAsked] = useState<Asked>();
  const close = (): void => setAsked(undefined);
  const { note, sendNow } = useSendNow();
  return (
    <section aria-labelledby="digests">
      <h2 id="digests">Digests</h2>
      <p>
        A digest is a report of a week or month: cost, tokens and sessions against the period before, and the most
        expensive repositories, people and models. It is sent once, six hours after the end of the period.
      </p>
      <NewDigest />
      <Answered of={digests}>
        {({ digests: all }) =>
          all.length === 0 ? (
            <Empty title="No digests" />
          ) : (
            <ul className="budget-list">
              {all.map((digest) => (
                <li key={digest.id} className="panel">
                  <DigestSummary digest={digest} />
                  <div className="row">
                    <button type="button" onClick={() => setAsked({ what: 'preview', digest })}>
                      Preview<span className="hidden-label"> {digest.name}</span>
                    </button>
                    <button type="button" disabled={sendNow.isPending} onClick={() => sendNow.mutate(digest)}>
                      Send now<span className="hidden-label"> {digest.name}</span>
                    </button>
                    <button type="button" onClick={() => setAsked({ what: 'change', digest })}>
                      Edit<span className="hidden-label"> {digest.name}</span>
                    </button>
                    <button type="button" className="danger" onClick={() => setAsked({ what: 'delete', digest })}>
                      Delete<span className="hidden-label"> {digest.name}</span>
                    </button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      <p role="status">{note}</p>
      {sendNow.error !== null && <Failure error={sendNow.error} />}
      <Deliveries event="digest.due" />
      {asked?.what === 'preview' && <Preview digest={asked.digest} close={close} />}
      {asked?.what === 'change' && <Change digest={asked.digest} close={close} />}
      {asked?.what === 'delete' && (
        <DeleteDialog name={asked.digest.name} remove={() => remove(asked.digest)} close={close}>
          It is not sent any more. Messages that wait are still sent.
        </DeleteDialog>
      )}
    </section>
  );
}

function useSendNow() {
  const [note, setNote] = useState('');
  const sendNow = useMutation({
    mutationFn: ({ id }: Digest) => send('post', '/v1/digests/{digest_id}/send', { parameters: { digest_id: id } }),
    onSuccess: ({ deliveries: { length } }, { name }) => {
      setNote(
        length === 0
          ? 'Nothing was sent: there is no destination. Add one under Alerts.'
          : `${name} is sent to ${length} ${length === 1 ? 'destination' : 'destinations'}. The messages below say what becomes of it.`,
      );
      refreshDeliveries();
    },
  });
  return { note, sendNow };
}

const DigestSummary = ({ digest }: { digest: Digest }): ReactNode => (
  <>
    <strong>{digest.name}</strong>
    <span className="muted">
      By {digest.period} in {digest.time_zone}: {toCounted(digest)}
    </span>
    <span>
      Sends to <DestinationNames ids={digest.destination_ids} />
    </span>
    <span className="muted">
      {digest.sent_period === null
        ? `Not sent yet: first after this ${digest.period}`
        : `Last sent: the ${digest.period} from ${digest.sent_period}`}
    </span>
  </>
);

/** Fields of both forms. */
function Fields({ digest }: { digest?: Digest }): ReactNode {
  return (
    <>
      <label>
        Name
        <input
          name="name"
          required
          maxLength={100}
          placeholder="weekly, heron in the month"
          defaultValue={digest?.name}
        />
      </label>
      <label>
        Period
        <select name="period" defaultValue={digest?.period}>
          <Options of={DIGEST_PERIODS.map((period) => [period, period])} />
        </select>
      </label>
      <label>
        Time zone
        <input name="zone" required defaultValue={digest?.time_zone ?? TIME_ZONE} />
      </label>
      <DestinationFields ids={digest?.destination_ids ?? null} />
      <CountedFields filters={digest?.filters ?? {}} />
    </>
  );
}

function readFields(form: HTMLFormElement): Request {
  const data = new FormData(form);
  return {
    ...{ name: String(data.get('name')).trim(), time_zone: String(data.get('zone')).trim() },
    period: data.get('period') as NonNullable<Request['period']>,
    filters: readCounted(data) as NonNullable<Request['filters']>,
    destination_ids: readDestinations(data),
  };
}

function NewDigest(): ReactNode {
  const make = useMutation({
    mutationFn: (body: Request) => send('post', '/v1/digests', { body }),
    onSuccess: refresh,
  });
  return (
    <CreateForm label="Create digest" of={make} toRequest={readFields}>
      <Fields />
    </CreateForm>
  );
}

function Change({ digest, close }: { digest: Digest; close: () => void }): ReactNode {
  const save = useMutation({
    mutationFn: (body: Body<'/v1/digests/{digest_id}', 'patch'>) =>
      send('patch', '/v1/digests/{digest_id}', { parameters: { digest_id: digest.id }, body }),
    onSuccess: async () => {
      await refresh();
      close();
    },
  });
  return (
    <FormDialog
      title={`Edit ${digest.name}`}
      className="admin-form"
      of={save}
      submit={(form) => save.mutate(readFields(form))}
      close={close}
    >
      <Fields digest={digest} />
    </FormDialog>
  );
}

async function remove({ id }: Digest): Promise<void> {
  await send('delete', '/v1/digests/{digest_id}', { parameters: { digest_id: id } });
  await refresh();
}

function Preview({ digest, close }: { digest: Digest; close: () => void }): ReactNode {
  const preview = useAnswer('/v1/digests/{digest_id}/preview', {}, { parameters: { digest_id: digest.id } });
  return (
    <Modal title={`Preview of ${digest.name}`} close={close}>
      <Answered of={preview}>
        {({ heading, plain }) => (
          <>
            <p>
              <strong>{heading}</strong>
            </p>
            <pre tabIndex={0}>{plain}</pre>
          </>
        )}
      </Answered>
      <button type="button" onClick={close}>
        Close
      </button>
    </Modal>
  );
}
