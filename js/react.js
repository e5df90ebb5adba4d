// A hook for React. react.d.ts says what everything means.
import { useEffect, useState } from "react";

export const useDecision = (client, experiment, { fallback, context, found } = {}) => {
  const [decision, show] = useState(() => (found ? client.resume(experiment, found) : undefined));
  const known = JSON.stringify(context);
  useEffect(() => {
    if (found) return;
    let gone = false;
    client.ask(experiment, { fallback, context }).then((answer) => gone || show(answer), (error) => gone || show({ error }));
    return () => {
      gone = true;
    };
  }, [client, experiment, known, found]);
  return {
    pending: !decision,
    levels: decision?.levels ?? fallback,
    error: decision?.error,
    click: () => decision?.click?.(),
  };
};
