import { addDays, PERIODS } from '@recount/contract/periods';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { readFilters, toValues } from '../format/dimensions.ts';
import { readPeriod } from '../format/period.ts';
import { TIME_ZONE } from '../format/values.ts';
import { type Body, send } from '../server-data/client.ts';
import { queryClient } from '../server-data/use-answer.ts';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Time } from '../ui/figures.tsx';
import { Form } from '../ui/form.tsx';
import { LifetimeChoice } from '../ui/lifetime-choice.tsx';
import { Modal } from '../ui/modal.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { useUrlState } from '../ui/use-url-state.ts';

type ViewShare = Body<'/v1/shares', 'post'>;

/** The part of a page that can be shared. */
export type SharedPart = Pick<ViewShare, 'kind' | 'table' | 'subject'>;

interface ShareViewProps {
  part: SharedPart;
  title: string;
  /** The time of the page, as parameters of its URL. */
  time: Readonly<Record<string, string>>;
  close: () => void;
}

/** Creates a link that shows these figures, with the filters and the time of the page, to anyone who has it. */
export function ShareView({ part, title, time, close }: ShareViewProps): ReactNode {
  const [state] = useUrlState();
  const period = PERIODS.find(({ id }) => id === time.period);
  const { from, to } = readPeriod(time, '');
  const [isMoving, setMoving] = useState(period !== undefined);
  const share = useMutation({
    mutationFn: (body: ViewShare) => send('post', '/v1/shares', { body }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['/v1/shares'] }),
  });
  const submit = (form: HTMLFormElement): void => {
    const data = new FormData(form);
    const [tool] = toValues(state.tool);
    share.mutate({
      ...part,
      ...readFilters(state),
      ...(part.subject === 'tool' && tool !== undefined && { tool }),
      title: String(data.get('title')),
      ...(isMoving && period !== undefined
        ? { period: period.id as NonNullable<ViewShare['period']> }
        : { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }),
      time_zone: TIME_ZONE,
      expires_in_days: Number(data.get('days')),
    });
  };
  if (share.data !== undefined) {
    return (
      <Modal title="The link is shown only once" close={close}>
        <p>
          Anyone with the link can read these figures without a key until <Time iso={share.data.expires_at} />. Admin →
          Shared links revokes it.
        </p>
        <ShownOnce text={new URL(share.data.path, location.href).href} close={close} />
      </Modal>
    );
  }
  return (
    <Modal title="Share this view by a link" close={close}>
      <p>
        Anyone with the link can read these figures, with the names of people, repositories and models in them, and
        nothing else. It shows no texts and no sessions.
      </p>
      <Form className="modal-form" submit={submit}>
        <label className="row">
          Title
          <input name="title" required maxLength={200} defaultValue={title} />
        </label>
        {period !== undefined && (
          <TimeChoice label={period.label} from={from} to={to} isMoving={isMoving} change={setMoving} />
        )}
        <LifetimeChoice />
        <DialogButtons label={share.isPending ? 'Creating the link …' : 'Create link'} of={share} close={close} />
      </Form>
    </Modal>
  );
}

interface TimeChoiceProps {
  label: string;
  from: string | undefined;
  to: string | undefined;
  isMoving: boolean;
  change: (isMoving: boolean) => void;
}

/** The choice between a period that moves with the day and its present days. */
const TimeChoice = ({ label, from, to, isMoving, change }: TimeChoiceProps): ReactNode => (
  <label className="row">
    Time
    <select value={isMoving ? 'moving' : 'fixed'} onChange={({ target }) => change(target.value === 'moving')}>
      <option value="moving">{label}, as of the day it is opened</option>
      {from !== undefined && to !== undefined && (
        <option value="fixed">
          Always {from} to {addDays(to, -1)}
        </option>
      )}
    </select>
  </label>
);
