// What pages and servers say to the service. The snippet and the npm package (js/) are both made from this file.
export const random = () => [...crypto.getRandomValues(new Uint32Array(4))].join("-");

export const connect = (base, token) => {
  const url = (path, experiment) =>
    new URL(experiment ? `v1/experiments/${encodeURIComponent(experiment)}/${path}` : path, base);
  // A text without a declared type: browsers send it to another site without asking that site first.
  const post = (to, what, more) =>
    fetch(to, { body: JSON.stringify({ token, ...what }), method: "POST", keepalive: true, ...more });
  const send = (to, what) => {
    globalThis.navigator?.sendBeacon?.(to, JSON.stringify({ token, ...what })) || post(to, what).catch(() => {});
  };
  return {
    visit: (experiment, who, more) => post(url("visit", experiment), who, more),
    beacon: (experiment, what) => send(url("beacon", experiment), what),
    track: (what) => send(url("v1/track"), what),
  };
};
