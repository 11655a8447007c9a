//! Tests of shared reads, without a database.

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::*;

const LANES_MAX: usize = 2;

/// Reports each fetch when it begins, and ends it when the test permits.
struct Recorder {
    begun: mpsc::UnboundedSender<Vec<u32>>,
    permits: Arc<Semaphore>,
}

impl Fetch for Recorder {
    type Key = u32;
    type Found = u32;

    async fn fetch(&self, keys: Vec<u32>) -> Vec<u32> {
        self.begun.send(keys.clone()).unwrap();
        self.permits.acquire().await.unwrap().forget();
        keys.iter().map(|key| key * 10).collect()
    }
}

struct Scene {
    together: Arc<Together<Recorder>>,
    begun: mpsc::UnboundedReceiver<Vec<u32>>,
    permits: Arc<Semaphore>,
}

impl Scene {
    fn new(time: Duration) -> Self {
        let (sender, begun) = mpsc::unbounded_channel();
        let permits = Arc::new(Semaphore::new(0));
        let recorder = Recorder { begun: sender, permits: permits.clone() };
        Self { together: Arc::new(Together::within(recorder, LANES_MAX, time)), begun, permits }
    }

    /// Begins a read; returns once it is sent or waiting.
    async fn read(&self, key: u32) -> JoinHandle<Result<u32>> {
        let calls = || {
            let state = self.together.0.locked();
            (state.lanes, state.calls)
        };
        let (together, before) = (self.together.clone(), calls());
        let task = tokio::spawn(async move { together.read(key).await });
        while calls() == before {
            tokio::task::yield_now().await;
        }
        task
    }

    /// As many reads as there are lanes, each sent alone.
    async fn fill_lanes(&mut self) -> Vec<JoinHandle<Result<u32>>> {
        let mut tasks = Vec::new();
        for key in (0..).take(LANES_MAX) {
            tasks.push(self.read(key).await);
            assert_eq!(self.begun.recv().await, Some(vec![key]));
        }
        tasks
    }
}

/// Reads are alone while a lane is free; later ones share the next fetch, which begins after them.
#[tokio::test]
async fn reads_that_wait_share_a_fetch() {
    let mut scene = Scene::new(LANE_TIME_MAX);
    let mut tasks = scene.fill_lanes().await;
    for key in [7, 8, 7] {
        tasks.push(scene.read(key).await);
    }
    scene.permits.add_permits(1);
    assert_eq!(scene.begun.recv().await, Some(vec![7, 8, 7]));
    scene.permits.add_permits(LANES_MAX);
    let mut found = Vec::new();
    for task in tasks {
        found.push(task.await.unwrap().unwrap());
    }
    assert_eq!(found[LANES_MAX..], [70, 80, 70]);
    assert_eq!(scene.together.0.locked().lanes, 0);
}

#[tokio::test]
async fn a_batch_has_a_maximum_size() {
    let mut scene = Scene::new(LANE_TIME_MAX);
    let mut tasks = scene.fill_lanes().await;
    for key in (0..).take(BATCH_MAX + 1) {
        tasks.push(scene.read(key).await);
    }
    scene.permits.add_permits(2);
    assert_eq!(scene.begun.recv().await.map(|keys| keys.len()), Some(BATCH_MAX));
    assert_eq!(scene.begun.recv().await.map(|keys| keys.len()), Some(1));
    scene.permits.add_permits(LANES_MAX);
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

/// If a caller that fetches for itself gives up, its lane is passed on; if a waiting caller gives up, its read
/// is not fetched.
#[tokio::test]
async fn callers_that_give_up_do_not_stop_others() {
    let mut scene = Scene::new(LANE_TIME_MAX);
    let tasks = scene.fill_lanes().await;
    let (given_up, other) = (scene.read(7).await, scene.read(8).await);
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    tasks[0].abort();
    assert_eq!(scene.begun.recv().await, Some(vec![8]));
    scene.permits.add_permits(LANES_MAX);
    assert_eq!(other.await.unwrap(), Ok(80));
}

#[tokio::test]
async fn a_read_that_waits_too_long_reports_overload() {
    let mut scene = Scene::new(Duration::ZERO);
    let _tasks = scene.fill_lanes().await;
    assert!(matches!(scene.together.read(7).await, Err(Error::Busy(_))));
    assert!(scene.together.0.locked().waiting.is_empty());
}
