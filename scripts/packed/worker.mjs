export default () => "worker";
